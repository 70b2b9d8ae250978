# SPDX-License-Identifier: MIT
# A device that does not speak our ABI is named as such, with the way out; nothing else is tried.
rmmod kprobe_lua || fail "the module can't be unloaded"
mknod /dev/kprobe-lua c 1 3
run kprobe-lua -e 'kprobe("vfs_read", function() end)'
rm /dev/kprobe-lua
insmod "$KPL_MODULE" || fail "the module can't be loaded again"
status 1
one_error
err 'ABI unknown, this program needs [0-9]+: unload it \(rmmod kprobe_lua\)'
