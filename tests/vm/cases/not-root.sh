# SPDX-License-Identifier: MIT
mkdir -m 755 /tmp/not-root
run su -s /bin/sh nobody -c "cd /tmp/not-root && kprobe-lua -e 'kprobe(\"vfs_read\", function() end)'"
rmdir /tmp/not-root
status 1
one_error
err 'run as root'
left_nothing
