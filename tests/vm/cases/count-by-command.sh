# SPDX-License-Identifier: MIT
# Every read of one command is counted, by its name; the table comes by itself at the end.
script count.lua <<'LUA'
local reads = count()
kprobe("vfs_read", function() reads[comm()]:add() end)
LUA
run kprobe-lua -c 'dd if=/dev/zero of=/dev/null bs=1 count=1000' count.lua
status 0
out '^@reads\[dd\]: 10[0-9][0-9]$'
no_out '\[init\]' # the VM's own relay is not seen
