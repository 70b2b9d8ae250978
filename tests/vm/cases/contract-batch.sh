# SPDX-License-Identifier: MIT
run kprobe-lua -c 'until [ "$(grep -c "^vfs_open" out)" -ge 2 ]; do cat /etc/passwd /etc/passwd | cat > /dev/null; sleep 0.1; done' \
    "$KPL_ROOT/tests/data/scripts/batch.lua"
status 0
out '^vfs_read	[0-9]+$'
out '^vfs_write	[0-9]+$'
left_nothing
