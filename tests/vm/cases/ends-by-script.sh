# SPDX-License-Identifier: MIT
# exit(n), in a handler and in user space.
run kprobe-lua -e 'kprobe("vfs_read", function() exit(7) end)' -c 'cat /etc/passwd; sleep 1000'
status 7
run kprobe-lua -e 'kprobe("vfs_read", function() end) exit(5)'
status 5
left_nothing
