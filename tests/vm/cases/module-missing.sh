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
mv library_out out
[ "$library" = 0 ] || fail "the library does not say so"
