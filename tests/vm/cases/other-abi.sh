# SPDX-License-Identifier: MIT
# A device that does not speak our ABI, and a module that was built with other tables, are named as such, with the way
# out; nothing else is tried.
rmmod kprobe_lua || fail "the module can't be unloaded"
mknod /dev/kprobe-lua c 1 3
run kprobe-lua -e 'kprobe("vfs_read", function() end)'
rm /dev/kprobe-lua
device=$status && mv err device_err

insmod "$KPL_OTHER_ABI" || fail "the other module can't be loaded"
run kprobe-lua doctor
mv out doctor_out
run table_rows_in_module
rows=$status && mv out rows_out
library_test refused 'built from other sources' > library_out
library=$?
run kprobe-lua -e 'kprobe("vfs_read", function() end)'
mv err other_err
# Who keeps it loaded is named.
tail -f /dev/null 5<> /dev/kprobe-lua &
holder=$!
held() { [ "$(cat /sys/module/kprobe_lua/refcnt)" = 1 ]; }
until_true 'the module is in use' held
run kprobe-lua -e 'kprobe("vfs_read", function() end)'
mv err held_err
kill "$holder"
wait "$holder" || true
mv other_err err
rmmod kprobe_lua && insmod "$KPL_MODULE" || fail "the module can't be loaded again"
status 1
one_error
reload="load the one built with this program: rmmod kprobe_lua; insmod build/kmod/$(uname -r | sed "s|[.+]|\\\\&|g")/kprobe_lua.ko"
err "the loaded kprobe_lua module was built from other sources than this program: build both \(make\), then $reload$"
grep -q 'built from other sources' doctor_out || fail "doctor does not tell"

reload_held=$(echo "$reload" | sed "s|this program: |&end process $holder \\\\(tail\\\\), which has a session; |")
mv held_err err
err "$reload_held$"

cat library_out
[ "$library" = 0 ] || fail "the library does not tell"

cat rows_out
[ "$rows" = 0 ] || fail "the rows for tests do not work in the module"

mv device_err err
status=$device
status 1
one_error
err "ABI unknown, this program needs [0-9]+: $reload$"
