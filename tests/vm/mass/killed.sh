# SPDX-License-Identifier: MIT
# limit: 600
# Thousands of probes of two sessions on the same functions, killed at any moment, while the kernel's function tracer
# goes on and off on them: nothing is left, and the kernel lives.
cat > many.lua <<'LUA'
kprobe({ "vfs_*", "tcp_*", "ext4_*", "blk_*", "sched_*", "cgroup_*", "security_*" }, function() end)
kprobe { { "vfs_rea*", "vfs_wri*" }, via = "kprobe", pre = function() end }
LUA
tracing=/sys/kernel/tracing
(
    while :; do
        echo 'vfs_*' > $tracing/set_ftrace_filter
        echo function > $tracing/current_tracer
        sleep 0.2
        echo nop > $tracing/current_tracer
        sleep 0.1
    done
) &
tracer=$!
# The moments are what is tested: nothing is waited for.
for after in 0.5 0.7 0.9 1.2 1.6 2.5; do
    kprobe-lua -q --max-probes=4000 many.lua > out 2> err < /dev/null &
    one=$!
    kprobe-lua -q --max-probes=4000 many.lua > /dev/null 2>&1 < /dev/null &
    two=$!
    sleep "$after"
    [ "$(cat /sys/module/kprobe_lua/refcnt)" = 0 ] || began=1
    kill -9 $one
    sleep 0.2
    kill -9 $two
    wait $one $two
    no_err .
done
if [ -z "$began" ]; then # a machine that is slow
    start kprobe-lua --max-probes=4000 many.lua
    until_true "a session" sh -c '[ "$(cat /sys/module/kprobe_lua/refcnt)" != 0 ]'
    kill -9 "$pid"
    finish
fi
kill $tracer
wait $tracer
echo nop > $tracing/current_tracer
echo > $tracing/set_ftrace_filter
left_nothing
run kprobe-lua -v --max-probes=4000 -c true many.lua
status 0
err '^armed in'
