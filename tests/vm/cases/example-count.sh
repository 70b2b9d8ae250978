# SPDX-License-Identifier: MIT
run kprobe-lua -c 'dd if=/dev/zero of=/dev/null bs=1 count=500' "$KPL_ROOT/examples/count.lua" vfs_write
status 0
out '^@calls\[dd\]: 50[0-9]$'
