# SPDX-License-Identifier: MIT
run kprobe-lua -c 'for i in 1 2 3 4 5 6 7 8; do cat /etc/passwd /etc/passwd | cat > /dev/null; sleep 0.5; done' \
    "$KPL_ROOT/tests/data/scripts/batch.lua"
status 0
out '^vfs_read	[0-9]+$'
out '^vfs_write	[0-9]+$'
[ "$(grep -c '^vfs_open	' out)" -ge 2 ] || fail 'nothing was counted after it was switched on again'
left_nothing
