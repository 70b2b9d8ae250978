# SPDX-License-Identifier: MIT
# An address as a number and as a string, an inner one too; -l tells of every declaration that has no place.
at=$(awk '$3 == "vfs_read" { print $1; exit }' /proc/kallsyms)
end=$(printf '%s' "$at" | tail -c 8)
offset=$(kprobe-lua disasm vfs_read | sed -nE 's/^ *\+(0x[0-9a-f]+)  yes .* pushq .*/\1/p' | sed 1q)
inner=ffffffff$(printf '%08x' $((0x$end + offset)))
script two.lua <<LUA
local probes = {
  kprobe(0x${at}ULL, function(p) printf("%s %x\n", p.func, p.addr) end),
  kprobe("0x$at", function() end),
  kprobe("0x$inner", function() end),
}
at_exit(function() for _, p in ipairs(probes) do print(p:stats().hits > 0) end end)
LUA
run kprobe-lua -c 'cat /etc/passwd > /dev/null' two.lua
status 0
out "^vfs_read $at$"
lines 3 '^true$'
run kprobe-lua -e "kprobe(0x$at, function() end)"
status 1
one_error
err '^-e:1: kprobe: as a number of Lua, this address has lost digits: write it with ULL'
run kprobe-lua -e 'kprobe("0xffffffff00000000", function() end)'
status 1
err '^-e:1: no function of this kernel covers the address 0xffffffff00000000'
script list.lua <<'LUA'
kprobe({ "no_such_1", "vfs_read", "no_such_2" }, function() end)
kprobe("vfs_write", function() end)
kprobe("no_such_3", function() end)
LUA
run kprobe-lua -l list.lua
status 1
line 'kprobe vfs_write'
[ "$(grep -c "no function 'no_such_[123]'" err)" = 3 ] || fail 'not all that fail'
