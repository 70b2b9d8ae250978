# SPDX-License-Identifier: MIT
# A program of this machine runs inside with its libraries; much output comes whole; what -o writes comes back.
run kprobe-lua --vm=6.1 --vm-add luajit -o result.txt \
    -c 'luajit -e "print(6 * 7)"; seq 60000' -e 'kprobe("vfs_read", function() end) at_exit(function() print("kept") end)'
status 0
{ echo 42; seq 60000; } | cmp - out || fail "stdout is not what the command wrote"
grep -Fxq kept result.txt || fail "result.txt: $(cat result.txt 2>&1)"
