# SPDX-License-Identifier: MIT
# limit: 900
# Returns of 10,000 functions by direct calls, or of as many as the kernel bears, in the time that their entries by ftrace
# take: one stub for those whose arguments are in registers, one for the others. None of their calls is missed but inside
# handlers, and data stay intact.
run kprobe-lua -e 'kprobe("vfs_read", function() end) exit()' # the module is there
most=$(cat /sys/module/kprobe_lua/parameters/direct_max)
functions=$((most < 10300 ? most : 10300))
. "$KPL_ROOT/tests/functions.lib"
probeable_functions | head -n "$functions" > names
ms() { sed -nE "s/.*$1 ([0-9]+)\.([0-9]{3}) s.*/\1\2/p" err | sed 's/^0*\(.\)/\1/'; }
{
    echo 'local names ='
    lua_names < names
    cat << 'LUA'
local calls, wrong = count(), count()
local probe = arg[1] == "returns" and kretprobe { names, via = "direct", optional = true,
  entry = function(p) p.data.sp = p.sp p.data.task = tid() end,
  ret = function(p) calls:add() if p.data.sp + 8 ~= p.sp or p.data.task ~= tid() then wrong:add() end end }
  or kprobe { names, via = "ftrace", optional = true, pre = function() calls:add() end }
at_exit(function()
  local s = probe:stats()
  print("wrong", wrong:value())
  print("calls", s.handled > 1000, s.returns and s.handled - s.returns.handled - s.returns.missed - s.returns.outstanding or 0)
end)
LUA
} > all.lua
load='for i in 1 2 3 4 5 6 7 8 9 10; do cat /proc/self/maps /proc/meminfo > /dev/null; ls -lR /sys/class > /dev/null 2>&1; done'
for what in entries returns; do
    run kprobe-lua -q -v --max-probes=11000 -c "sh -c '$load'" all.lua "$what"
    [ "$status" = 0 ] || fail "$what: $status"
    line 'wrong	0'
    line 'calls	true	0'
    grep -E '^armed in' err
    eval "on_$what=$(ms 'armed in') off_$what=$(ms 'gone in')"
done
err "^armed in .*: ([89][0-9]{3}|10[0-9]{3}|7[89][0-9]{2}) by direct calls"
echo "$functions entries: on $on_entries ms, off $off_entries ms; returns: on $on_returns ms, off $off_returns ms"
[ "$on_returns" -lt $((3 * on_entries)) ] && [ "$off_returns" -lt $((3 * off_entries)) ] || fail 'too slow'
