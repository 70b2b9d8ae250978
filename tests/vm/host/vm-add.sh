# SPDX-License-Identifier: MIT
# A program of this machine runs inside with its libraries; what it writes with -o comes back.
run kprobe-lua --vm=6.1 --vm-add luajit -o result.txt \
    -c 'luajit -e "print(6 * 7)"' -e 'kprobe("vfs_read", function() end) at_exit(function() print("kept") end)'
status 0
line 42
grep -Fxq kept result.txt || fail "result.txt: $(cat result.txt 2>&1)"
