# SPDX-License-Identifier: MIT
# Tools on files, against workloads whose numbers are known.

. "$KPL_ROOT/tests/vm/tools/jobs/kit.sh"

# What cat copies goes elsewhere: busybox has the kernel write it, where the tool's line may stand by then.
run kprobe-lua -c 'cat /etc/passwd /nonexistent "/tmp/two
lines" > /dev/null' opensnoop
status 0
out '^[0-9]+ +cat +-1 +2 /tmp/two\?lines$'
line 'PID    COMM               FD ERR PATH'
out '^[0-9]+ +cat +3 +0 /etc/passwd$'
out '^[0-9]+ +cat +-1 +2 /nonexistent$'
run kprobe-lua -f json -c "cat /etc/passwd /nonexistent '$(printf '/tmp/bad\377name')'" opensnoop -x --comm cat
status 0
out '^\{"type":"row","data":\{"pid":[0-9]+,"comm":"cat","fd":-1,"err":2,"path":"/nonexistent"\}\}$'
out "\"path\":\"/tmp/bad$(printf '\357\277\275')name\"" # no UTF-8: replaced
no_out passwd

run kprobe-lua -c 'dd if=/dev/zero of=f bs=8 count=20 2>/dev/null' funccount vfs_read vfs_write --comm dd
status 0
has_header funccount
out '^vfs_write +21$' # the last is what dd says of it
out '^vfs_read +20$'

run kprobe-lua -c 'dd if=/dev/zero of=f bs=8 count=60 conv=fsync 2>/dev/null' vfsstat --comm dd -i 1000
status 0
has_header vfsstat
out '^[0-9:]{8} +[0-9]+ +[1-9][0-9]* +[0-9]+ +[0-9]+ +[0-9]+$'

run kprobe-lua -c 'echo x > f1; rm f1; echo y > f2; sleep 0.3; rm f2' filelife
status 0
has_header filelife
out '^[0-9:]{8} [0-9]+ +rm +[0-9.]+ +f1$'
out '^[0-9:]{8} [0-9]+ +rm +([1-9][0-9]*\.[0-9]+|0\.[3-9][0-9]*) +f2$'

run kprobe-lua -c 'dd if=/dev/zero of=f bs=8 count=20 2>/dev/null' vfscount --comm dd
status 0
has_header vfscount
out '^[0-9a-f]{16} vfs_read +20$'
out '^[0-9a-f]{16} vfs_write +21$'

run kprobe-lua -c 'dd if=f of=g bs=8 count=10 2>/dev/null' fileslower 0 --comm dd
status 0
has_header fileslower
lines 10 '^[0-9.]+ +dd +[0-9]+ +R 8 +[0-9.]+ f$'
lines 10 '^[0-9.]+ +dd +[0-9]+ +W 8 +[0-9.]+ g$'

run kprobe-lua -c 'for i in 1 2 3 4 5; do cat /tmp/miss$i; done 2>/dev/null' dcsnoop --comm cat
status 0
has_header dcsnoop
lines 5 '^[0-9.]+ +[0-9]+ +cat +M miss[1-5]$'
run kprobe-lua -c 'for i in 1 2 3 4 5; do cat /tmp/other$i; done 2>/dev/null' dcstat 0.05 --comm cat
status 0
has_header dcstat
[ "$(awk '$4 > 0 && $2 >= $4 { seen = 1 } END { print seen + 0 }' out)" = 1 ] || fail "no lookups in vain"

run kprobe-lua -c 'test -e /etc/hostname; test -e /nonexistent; stat -f /tmp > /dev/null; sync' statsnoop
status 0
has_header statsnoop
out '^[0-9]+ +[a-z]+ +-1 +2 /nonexistent$'
out '^[0-9]+ +[a-z]+ +0 +0 /tmp$'
run kprobe-lua -c 'dd if=/dev/zero of=f bs=8 count=1 conv=fsync 2>/dev/null; sync' syncsnoop
status 0
has_header syncsnoop
lines 1 '^[0-9.]+ +[0-9]+ +dd +fsync$'
lines 1 '^[0-9.]+ +[0-9]+ +[a-z]+ +sync$'
mkdir -p mnt
run kprobe-lua -c 'mount -t tmpfs none mnt; umount mnt; umount mnt 2> /dev/null' mountsnoop
status 0
has_header mountsnoop
out '^mount +[0-9]+ +[0-9]+ +[0-9]+ +mount\("none", "[^"]*mnt", "tmpfs", 0x[0-9a-f]+\) = 0$'
out '^umount +[0-9]+ +[0-9]+ +[0-9]+ +umount\("[^"]*mnt", 0x[0-9a-f]+\) = 0$'
out '^umount .* = -[0-9]+$'
