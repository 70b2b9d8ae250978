# SPDX-License-Identifier: MIT
# kstack() begins where the hit is. The caller follows before each instruction of a function, and behind those that move the
# stack pointer in one byte: at either, the kernel's registers point behind that byte.
kprobe-lua disasm vfs_read > text
sed -nE 's/^ *(\+0x[0-9a-f]+)  yes .*/\1/p' text > all
sed -nE 's/^ *(\+0x[0-9a-f]+)  yes .*  5[0-9a-f]  .* (push|pop)q .*/\1 \2/p' text > moves
pushes=$(sed -n 's/ push//p' moves)
[ -n "$pushes" ] || fail "vfs_read has no such instruction"
script stacks.lua <<'LUA'
local stacks = event()
local moves = {}
for line in io.lines "moves" do moves[line:match "%S+"] = true end
for offset in io.lines "all" do
  local function before() stacks { place = offset, side = "before", at = kstack(2) } end
  local function behind() stacks { place = offset, side = "behind", at = kstack(2) } end
  kprobe { "vfs_read" .. offset, pre = before, post = moves[offset] and behind }
end
stacks:each(function(e) print(e.place, e.side, (tostring(e.at[2]):gsub("+.*", ""))) end)
LUA
run kprobe-lua -q -c 'read -r _ < /proc/version' stacks.lua
status 0
for offset in +0x0 $pushes; do line "$offset	before	ksys_read"; done
for offset in $pushes; do line "$offset	behind	ksys_read"; done
[ "$(sort -u out | grep -c 'before.ksys_read$')" -ge 50 ] || fail "few instructions ran"
no_out 'nil$'

# A function without a site of ftrace, where a landing pad may stand before the first instruction.
run kprobe-lua -c 'cat /proc/modules' -e 'local s = count() kprobe("xas_load", function() s[kstack(2)]:add() end)'
status 0
out '^ +xas_load$'
no_out '^ +0x'

# Where the scheduler counts, perf has an address and a frame alone.
run kprobe-lua -c 'sleep 0.1' -e 'local s = count() perf { "context-switches", every = 1, function() s[kstack(3)]:add() end }'
status 0
out '^ +schedule\+0x'
no_out '^ +0x'
awk '{ sub(/\].*/, "") } /^ / && $1 == last { exit 1 } { last = $1 }' out || fail 'a frame comes twice'

# What ftrace called before may have moved the call already.
for order in 'counts() moves()' 'moves() counts()'; do
    run kprobe-lua --unsafe -c sync -e "local s = count()
        local function counts() kprobe('ksys_sync', function() s[kstack(2)]:add() end) end
        local function moves() kprobe { 'ksys_sync', pre = function() override() end } end $order"
    status 0
    out '^ +ksys_sync$'
done

# A handler that has the hit go on elsewhere is still where its probe is.
script moves.lua <<'LUA'
local place, out
for _, i in ipairs(instructions "ksys_sync") do
  if i.boost then place = place or ("ksys_sync+0x%x"):format(i.offset) end
  if i.text:find "ret" then out = out or i.offset end
end
local stacks = event()
kprobe { place, pre = function(p) p.ip = kaddr("ksys_sync") + out stacks { at = kstack(2) } end }
stacks:each(function(e) print("moved", tostring(e.at[1]) == place, e.at[2]) end)
LUA
run kprobe-lua --unsafe -q -c sync moves.lua
status 0
out '^moved	true	__[a-z0-9_]*sys_sync\+0x[0-9a-f]+$'
