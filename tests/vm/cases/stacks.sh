# SPDX-License-Identifier: MIT
# kstack() has the callers before and behind an instruction of one byte that moves the stack pointer: the kernel shows both
# as if it had run.
kprobe-lua disasm vfs_read > text
sed -nE 's/^ *(\+0x[0-9a-f]+)  yes .*  5[0-9a-f]  .* (push|pop)q .*/\1 \2/p' text > moves
pushes=$(sed -n 's/ push//p' moves)
[ -n "$pushes" ] || fail "vfs_read has no such instruction"
script stacks.lua <<'LUA'
local stacks = event()
for line in io.lines "moves" do
  local offset = line:match "%S+"
  kprobe { "vfs_read" .. offset,
    pre = function() stacks { place = offset, side = "before", at = kstack(2) } end,
    post = function() stacks { place = offset, side = "behind", at = kstack(2) } end,
  }
end
kprobe("vfs_read", function() stacks { place = "entry", side = "before", at = kstack(2) } end)
stacks:each(function(e) print(e.place, e.side, (tostring(e.at[2]):gsub("+.*", ""))) end)
LUA
run kprobe-lua -q -c 'read -r _ < /proc/version' stacks.lua
status 0
line 'entry	before	ksys_read'
for offset in $pushes; do
    line "$offset	before	ksys_read"
    line "$offset	behind	ksys_read"
done
no_out 'nil$'
