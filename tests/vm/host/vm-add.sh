# SPDX-License-Identifier: MIT
# What is added is there: programs with their libraries, before busybox's commands of their names; directories; kernel
# modules with what they need. -v lists it. A path through `..` leads to the script. Much output comes whole; what -o
# writes comes back.
# limit: 400
mkdir -p sub dir/deep bin
echo 'deep file' > dir/deep/file
printf '#!/bin/sh\necho "my own $*"\n' > bin/tac # busybox has one, too
chmod +x bin/tac
echo 'kprobe("vfs_read", function() end) at_exit(function() print("kept") end)' > script.lua
run kprobe-lua -v --vm=6.1 --vm-add luajit --vm-add dir --vm-add bin/tac --vm-add dummy.ko -o result.txt \
    -c 'luajit -e "print(6 * 7)"; tac x y; cat dir/deep/file; grep -o "^dummy" /proc/modules; seq 60000; kprobe-lua list >&2' sub/../script.lua
status 0
{ echo 42; echo my own x y; echo deep file; echo dummy; seq 60000; } | cmp - out || fail "stdout is not what the command wrote"
grep -Fxq kept result.txt || fail "result.txt: $(cat result.txt 2>&1)"
err '^ADDRESS +KIND'
err ' vfs_read(\+0x4)? +kprobe_lua '
err '^vm: holds$'
err '^  init, and busybox with [0-9]+ commands: '
err "^  $PWD/dir: 1 file, 1 KiB$"
err '^  /usr/lib/modules/6\.1.*/dummy\.ko: 1 file'

# A command alone, with several scripts in one boot; a packed module.
echo 'kprobe("vfs_read", function() printf("one") exit() end)' > one.lua
echo 'kprobe("vfs_write", function() printf("two") exit(3) end)' > two.lua
run kprobe-lua --vm=6.12 --vm-add one.lua --vm-add two.lua --vm-add dummy.ko \
    -c 'kprobe-lua -c "cat /etc/passwd >/dev/null" one.lua; kprobe-lua -c "cat /etc/passwd >/dev/null; echo >/dev/null" two.lua; code=$?; grep -o "^dummy" /proc/modules; exit $code'
status 3
printf 'onetwodummy\n' | cmp - out || fail "not what both scripts wrote"
