# SPDX-License-Identifier: MIT
# Tools on processes and on the scheduler.
. "$KPL_ROOT/tests/vm/tools/jobs/kit.sh"

run kprobe-lua -c 'env A=1 /bin/echo one "two  words"; /bin/busybox true' execsnoop
status 0
line 'PCOMM            PID     PPID    RET ARGS'
out '^echo +[0-9]+ +[0-9]+ +0 /bin/echo one two  words$'
out '^busybox +[0-9]+ +[0-9]+ +0 /bin/busybox true$'

run kprobe-lua -c 'sh -c "exit 3"; sh -c "kill -9 \$\$"; sleep 0.5; true' exitsnoop
has_header exitsnoop
out '^sh +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+ +code 3$'
out '^sh +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+ +signal 9 \(SIGKILL\)$'
out '^sleep +[0-9]+ +[0-9]+ +[0-9]+ +([1-9][0-9]*\.[0-9]+|0\.[5-9][0-9]*) +0$'

echo 'echo one two' > typed
run kprobe-lua -c 'bash --norc -i < typed' bashreadline
status 0
has_header bashreadline
out '^[0-9:]{8} +[0-9]+ +echo one two$'

touch file
run kprobe-lua -c 'chown nobody file' capable --comm chown
status 0
has_header capable
out '^[0-9:]{8} 0 +[0-9]+ +chown +0 +CAP_CHOWN +1 +0$'

run kprobe-lua -c 'sleep 0.25' naptime
status 0
has_header naptime
out '^[a-z]+ +[0-9]+ +sleep +[0-9]+ +0\.250$'

run kprobe-lua -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/busybox true; done' pidpersec 0.05
status 0
has_header pidpersec
out '^[0-9:]{8} +[1-9][0-9]*$'

# A terminal that is full: the second writer waits for the first one's mutex.
luajit "$jobs/terminal.lua" &
until_true "a terminal" [ -s terminal-name ]
tty=$(cat terminal-name)
start kprobe-lua ttysnoop "$tty"
armed
KPROBE_LUA_VERBOSE=1 kprobe-lua mutexslower 100000 > slow 2> slow.err &
armed slow.err
touch go
wait_for 'x*hello'
kill -INT "$pid"
finish
status 0
kill -INT $!
wait $!
grep -Eq '^[0-9.]+ +luajit +[0-9]+ +[0-9.]+ +0x[0-9a-f]+ .*tty' slow || fail "mutexslower: $(cat slow slow.err)"

run kprobe-lua -f folded -c 'sleep 0.5' offcputime --comm sleep
out '^sleep;.*do_nanosleep_\[k\].* ([4-9][0-9]{5}|[0-9]{7,})$'

for tool in cpudist runqlat; do
    run kprobe-lua -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/busybox true; done' $tool
    status 0
    out '^     usecs               : count     distribution$'
    [ "$(counted)" -ge 10 ] || fail "$tool: $(counted) stretches"
done
run kprobe-lua -c 'sleep 0.2' softirqs
status 0
has_header softirqs
out '^timer +[1-9][0-9]* +[0-9]+$'
run kprobe-lua -c 'echo x > /dev/kmsg; dd if=/proc/interrupts bs=64k of=/dev/null 2> /dev/null; sleep 0.2' hardirqs
status 0
has_header hardirqs
run kprobe-lua -c 'sleep 20 & kill -0 $!; kill -15 $!; kill -9 4194303 2> /dev/null' killsnoop
status 0
has_header killsnoop
out '^[0-9:]{8} +[0-9]+ +sh +0 +[0-9]+ +0$'
out '^[0-9:]{8} +[0-9]+ +sh +15 +[0-9]+ +0$'
out '^[0-9:]{8} +[0-9]+ +sh +9 +4194303 +-3$'
run kprobe-lua -c 'sleep 20 & kill -0 $!; kill -15 $!; kill -9 4194303 2> /dev/null' killsnoop -x
lines 2 .
run kprobe-lua -c "luajit $jobs/users.lua" setuids --comm luajit
status 0
has_header setuids
out '^[0-9]+ +luajit +0 +setresuid +0 ruid=-1 euid=65534 suid=-1$'
out '^[0-9]+ +luajit +0 +setuid +0 uid=0$'
run kprobe-lua -c 'uprobed threads 1' threadsnoop --comm uprobed
status 0
has_header threadsnoop
lines 4 '^[0-9]+ +[0-9]+ +uprobed +of_thread \[uprobed\]$'

# What calls, and how often, is known.
run kprobe-lua -c 'dd if=/dev/zero of=f bs=8 count=200 2>/dev/null' syscount --comm dd -L
status 0
out '^write +201 +[0-9.]+$'
[ "$(awk '$1 == "read" { print ($2 >= 200 && $2 < 210) }' out)" = 1 ] || fail "not 200 reads"
run kprobe-lua -c 'cat /n1 /n2 /n3 2> /dev/null' syscount --comm cat -e 2
has_header syscount
out '^openat +[3-9]'
run kprobe-lua -c 'dd if=/dev/zero of=f bs=8 count=200 2>/dev/null' syscount -P --comm dd
out '^[0-9]+ +dd +[0-9]{3}$'

# A loop of ours is what the clock finds.
run kprobe-lua -c 'timeout -s KILL 0.5 ustacked calls 1000000000' profile -F 199 --comm ustacked
out '^  main\+0x[0-9a-f]+ \[ustacked\]$'
out '^    ustacked$'
run kprobe-lua -f folded -c 'timeout -s KILL 0.5 ustacked calls 1000000000' profile -F 199 -U --comm ustacked
out '^ustacked;.*main;outer.* [0-9]+$'
