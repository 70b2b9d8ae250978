# SPDX-License-Identifier: MIT
run kprobe-lua --timeout 1 -e 'kprobe("vfs_read", function() end) at_exit(function() print("over") end)'
status 0
line over
left_nothing
