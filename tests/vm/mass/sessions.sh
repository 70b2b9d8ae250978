# SPDX-License-Identifier: MIT
# limit: 600
# Two sessions at the same thousands of functions, who are served by one ftrace_ops: one comes, goes and is killed, the other one
# counts each call.
tracing=/sys/kernel/tracing
target_lua
cat > many.lua << 'LUA'
local n, calls, name = count(), count(), arg[1]
kprobe({ "vfs_*", "tcp_*", "ext4_*", "blk_*", "sched_*", "cgroup_*", "security_*" }, function() n:add() end)
local plain = kprobe("kpl_t_plain", function() calls:add() end)
every(0.1, function()
  local f = io.open "end"
  if not f then return end
  f:close()
  print(name, plain.state, calls:value(), n:value() > 0)
  exit()
end)
LUA
session() {
    rm -f "$1.out" "$1.err" # what an earlier one wrote is not waited for
    kprobe-lua -v --max-probes=4000 many.lua "$1" > "$1.out" 2> "$1.err" < /dev/null &
    pid=$!
}
for first in one two; do
    rm -f end
    [ $first = one ] && second=two || second=one
    for name in $first $second; do
        session $name
        [ $name = one ] && one=$pid || two=$pid
        armed $name.err
    done
    [ "$(grep -c . $tracing/enabled_functions)" -gt 1000 ] || fail "few functions"
    several=$(sed '/kpl_kept/d' $tracing/enabled_functions | grep -cE '^[^(]*\(([2-9]|1[0-9])\)')
    [ "$several" = 0 ] || fail "$several functions have more than one ftrace_ops"
    target 'plain 1000' > /dev/null
    kill -9 $one
    target 'plain 1000' > /dev/null
    wait $one
    target 'plain 1000' > /dev/null
    session one
    one=$pid
    armed one.err
    target 'plain 1000' > /dev/null
    touch end
    wait $one $two
    grep -Fxq 'one	ftrace	1000	true' one.out || fail "$(cat one.out one.err)"
    grep -Fxq 'two	ftrace	4000	true' two.out || fail "$(cat two.out two.err)"
    left_nothing
done
