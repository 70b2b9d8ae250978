# SPDX-License-Identifier: MIT
# Tools on memory: exact numbers of objects, pages and calls.
. "$KPL_ROOT/tests/vm/tools/jobs/kit.sh"

run kprobe-lua -c "luajit $jobs/files.lua" slabratetop --comm luajit
status 0
has_header slabratetop
[ "$(awk '$1 == "filp" { print ($2 >= 1000 && $2 < 1100) }' out)" = 1 ] || fail "not 1,000 files"

start kprobe-lua -c "luajit $jobs/pipes.lua" memleak --comm luajit
armed
until_true "pipes" [ -e made ]
kill -INT "$pid"
finish
status 0
out '^    [0-9]+ bytes in 30 allocations from stack$'
out '^        alloc_pipe_info'

# Of a process: what it keeps, not what it gives back.
ustacked leaks 30 > waits &
leaker=$!
until_true "memory" grep -q waits waits
start kprobe-lua memleak -p $leaker
armed
kill -USR1 $leaker
until_true "leaks" grep -q leaked waits
kill -INT "$pid"
finish
kill $leaker
status 0
out '^    3000 bytes in 30 allocations from stack$'
out '^        inner\+0x[0-9a-f]+ \[ustacked\]$'
out '^        main\+0x[0-9a-f]+ \[ustacked\]$'

# Of two that have theirs at the same addresses, as the kernel does not move them about here.
leakers=
for one in 1 2; do
    ustacked leaks 30 > waits.$one &
    leakers="$leakers $!"
    until_true "memory" grep -q waits waits.$one
done
start kprobe-lua memleak -O libc --comm ustacked
armed
# shellcheck disable=SC2086 # a list
kill -USR1 $leakers
for one in 1 2; do until_true "leaks" grep -q leaked waits.$one; done
kill -INT "$pid"
finish
# shellcheck disable=SC2086 # a list
kill $leakers
status 0
out '^    6000 bytes in 60 allocations from stack$'

run kprobe-lua -c "luajit $jobs/shm.lua" shmsnoop --comm luajit
status 0
has_header shmsnoop
out '^[0-9]+ +luajit +shmget +0x[0-9a-f]+ key: 0x1234, size: 4096, shmflg: 0x3a4$'
out '^[0-9]+ +luajit +shmat +0x[0-9a-f]{8,} shmid: 0x[0-9a-f]+, shmaddr: 0x0, shmflg: 0x0$'
out '^[0-9]+ +luajit +shmdt +0x0 shmaddr: 0x[0-9a-f]{8,}$'
out '^[0-9]+ +luajit +shmctl +0x0 shmid: 0x[0-9a-f]+, cmd: 0, buf: 0x0$'

echo 32M > /sys/block/zram0/disksize && mkswap /dev/zram0 > /dev/null && swapon /dev/zram0 || fail "no swap"
echo 0 > /proc/sys/vm/page-cluster # a page each time
run kprobe-lua -c "luajit $jobs/swap.lua" swapin --comm luajit
status 0
has_header swapin
out '^luajit +[0-9]+ +256$'

# More than the machine has, and more than a cgroup may have. Empty pages take no room in this swap.
swapoff /dev/zram0
echo 1 > /sys/block/zram0/reset
echo 96M > /sys/block/zram0/disksize && mkswap /dev/zram0 > /dev/null && swapon /dev/zram0 || fail "no swap"
mkdir full
starve() { # leaves so many MiB
    free=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)
    mount -t tmpfs -o size=100% none full && fallocate -l $((free - $1))M full/file || fail "no memory is taken"
}
# Whether kswapd is in time is chance: until a program had to wait for memory itself.
tries=0
until grep -q ' machine$' out || [ $tries = 20 ]; do
    tries=$((tries + 1))
    starve 64
    run kprobe-lua -c "luajit $jobs/eat.lua 96" drsnoop --comm luajit
    umount full
done
status 0
has_header drsnoop
out '^luajit +[0-9]+ +[0-9.]+ +[1-9][0-9]* +[0-9] machine$'
mkdir -p /sys/fs/cgroup/small
echo +memory > /sys/fs/cgroup/cgroup.subtree_control 2> /dev/null
if echo 16M > /sys/fs/cgroup/small/memory.max; then
    run kprobe-lua -c "echo 0 > /sys/fs/cgroup/small/cgroup.procs; luajit $jobs/eat.lua 48" drsnoop --comm luajit
    status 0
    out '^luajit +[0-9]+ +[0-9.]+ +[1-9][0-9]* +[0-9] cgroup$'
fi
swapoff /dev/zram0

if [ -e /sys/fs/cgroup/small/memory.max ]; then
    run kprobe-lua -c "echo 0 > /sys/fs/cgroup/small/cgroup.procs; luajit $jobs/eat.lua 64" oomkill
    status 0
    has_header oomkill
    out '^[0-9:]{8} [0-9]+ +[a-z]+ +[0-9]+ +luajit +[0-9]+ [0-9.]+ '
fi
