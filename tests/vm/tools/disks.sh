# SPDX-License-Identifier: MIT
# Tools on disks and on ext4, on a loop device whose file is in memory.
. "$KPL_ROOT/tests/vm/tools/jobs/kit.sh"

dd if=/dev/zero of=image bs=1M count=24 2> /dev/null
loop=$(losetup -f)
losetup "$loop" image && mke2fs -q "$loop" > /dev/null 2>&1 || fail "no file system on $loop"
disk=${loop#/dev/}

# Direct reads: each is a request of its own.
run kprobe-lua -c "dd if=$loop of=/dev/null bs=4096 count=30 iflag=direct 2>/dev/null" biosnoop -d "$disk"
status 0
has_header biosnoop
lines 30 "^[0-9.]+ +dd +[0-9]+ +$disk +R +[0-9]+ +4096 +[0-9.]+\$"

# (What is written before is so when it likes.)
run kprobe-lua -c "dd if=$loop of=/dev/null bs=4096 count=30 iflag=direct 2>/dev/null" biolatency -F
status 0
out '^kind = read$'
out '^     usecs               : count     distribution$'
[ "$(counted 'kind = read')" = 30 ] || fail "$(counted 'kind = read') requests, not 30"
run kprobe-lua -c "dd if=$loop of=/dev/null bs=8192 count=30 iflag=direct 2>/dev/null" bitesize
status 0
out '^Process Name = dd$'
out '^ +8 -> 15 +: 30 '

# Mounted from here on: it reads and writes when it likes.
mkdir -p mnt && mount -t ext4 "$loop" mnt || fail "no ext4 on $loop"
run kprobe-lua -c 'for i in 1 2 3; do echo some words > mnt/f$i; done; cat mnt/f1 > /dev/null; for i in 2 3; do dd if=/dev/null of=mnt/f$i conv=notrunc,fsync 2>/dev/null; done' ext4slower 0
status 0
has_header ext4slower
lines 3 '^[0-9:]{8} sh +[0-9]+ +W 11 +0 +[0-9.]+ f[123]$'
lines 1 '^[0-9:]{8} cat +[0-9]+ +O 0 +0 +[0-9.]+ f1$'
lines 2 '^[0-9:]{8} dd +[0-9]+ +S 0 +0 +[0-9.]+ f[23]$' # dd's
run kprobe-lua -c 'dd if=/dev/zero of=mnt/g bs=512 count=40 2>/dev/null' ext4dist --comm dd
status 0
[ "$(counted 'operation = write')" = 40 ] || fail "$(counted 'operation = write') writes, not 40"

# What is written later is asked for now; the file system's cache is cold, then warm.
run kprobe-lua -c 'dd if=/dev/zero of=mnt/h bs=4096 count=64 2>/dev/null; sync' writeback
status 0
has_header writeback
out "^[0-9:]{8} [0-9]+:[0-9]+ +[0-9]+ +sync +[0-9.]+\$"
echo 3 > /proc/sys/vm/drop_caches
run kprobe-lua -c 'cat mnt/h > /dev/null; for i in 1 2 3 4 5; do dd if=mnt/h of=/dev/null bs=4096 2>/dev/null; done' cachestat -i 1000
status 0
has_header cachestat
[ "$(awk 'END { print ($1 >= 64 && $2 >= 1) }' out)" = 1 ] || fail "no hits or misses of the cache"
umount mnt
losetup -d "$loop"
