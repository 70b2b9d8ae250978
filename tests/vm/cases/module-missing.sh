# SPDX-License-Identifier: MIT
# Without the module: one line that names the ways out.
rmmod kprobe_lua || fail "the module can't be unloaded"
library_test refused --vm > library_out
library=$?
run kprobe-lua -e 'kprobe("vfs_read", function() end)'
insmod "$KPL_MODULE" || fail "the module can't be loaded again"
status 1
one_error
err '--vm'
err 'doctor'
# a node that nothing answers to is not a missing module; nor is a missing node, where there is no /sys
script nodes.sh <<'SH'
mount -t tmpfs none /dev/
mknod /dev/kprobe-lua c 10 239
kprobe-lua -e 'kprobe("vfs_read", function() end)'
rm /dev/kprobe-lua
mount -t tmpfs none /sys
kprobe-lua -e 'kprobe("vfs_read", function() end)'
SH
unshare -m sh nodes.sh > out 2> err
err '^kprobe-lua: the kprobe_lua module is loaded, but this /dev/kprobe-lua is of an earlier load of it: '
err '^kprobe-lua: the kprobe_lua module is loaded, but there is no /dev/kprobe-lua here: '
mv library_out out
[ "$library" = 0 ] || fail "the library does not say so"
