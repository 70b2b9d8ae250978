# SPDX-License-Identifier: MIT
# A run that ends well on a kernel that complains has failed, and shows the complaint.
run kprobe-lua --vm=6.12 -c 'echo "<4>WARNING: CPU: 0 PID: 1 at here.c:1" > /dev/kmsg' -e 'kprobe("vfs_read", function() end)'
status 1
err 'WARNING: CPU: 0 PID: 1 at here\.c:1'
