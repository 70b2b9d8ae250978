# SPDX-License-Identifier: MIT
# A session belongs to a process: a kernel thread can't open one.
[ "$(target open /dev/null)" = 0 ] || fail "a kernel thread can't open files"
[ "$(target open /dev/kprobe-lua)" = -1 ] || fail "a kernel thread opened the device: $(target)"
left_nothing
