# SPDX-License-Identifier: MIT
run kprobe-lua --no-such-option
status 2
run kprobe-lua
status 2
run kprobe-lua --check -e 'kprobe("vfs_read", function() end)'
status 0
