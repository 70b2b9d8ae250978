# SPDX-License-Identifier: MIT
# The module stays while a session lives.
start kprobe-lua -e 'kprobe("vfs_read", function() end)'
armed
! rmmod kprobe_lua 2> /dev/null || fail "the module was unloaded under a session"
kill -INT "$pid"
finish
status 0
left_nothing
rmmod kprobe_lua || fail "the module can't be unloaded"
insmod "$KPL_MODULE" || fail "the module can't be loaded again"
