# SPDX-License-Identifier: MIT
cd /sys/kernel/tracing || exit
echo "p:left vfs_read" > kprobe_events
echo 1 > events/kprobes/left/enable
