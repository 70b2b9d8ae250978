# SPDX-License-Identifier: MIT
# kstack() has the caller before each instruction of a function, and behind those that move the stack pointer in one byte:
# at either, the kernel's registers point behind that byte.
kprobe-lua disasm vfs_read > text
sed -nE 's/^ *(\+0x[0-9a-f]+)  yes .*/\1/p' text > all
sed -nE 's/^ *(\+0x[0-9a-f]+)  yes .*  5[0-9a-f]  .* (push|pop)q .*/\1 \2/p' text > moves
pushes=$(sed -n 's/ push//p' moves)
[ -n "$pushes" ] || fail "vfs_read has no such instruction"
script stacks.lua <<'LUA'
local stacks = event()
for offset in io.lines "all" do
  kprobe { "vfs_read" .. offset, pre = function() stacks { place = offset, side = "before", at = kstack(2) } end }
end
for line in io.lines "moves" do
  local offset = line:match "%S+"
  kprobe { "vfs_read" .. offset, post = function() stacks { place = offset, side = "behind", at = kstack(2) } end }
end
stacks:each(function(e) print(e.place, e.side, (tostring(e.at[2]):gsub("+.*", ""))) end)
LUA
run kprobe-lua -q -c 'read -r _ < /proc/version' stacks.lua
status 0
for offset in +0x0 $pushes; do line "$offset	before	ksys_read"; done
for offset in $pushes; do line "$offset	behind	ksys_read"; done
[ "$(sort -u out | grep -c 'before.ksys_read$')" -ge 50 ] || fail "few instructions ran"
no_out 'nil$'
