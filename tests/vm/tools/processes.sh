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
