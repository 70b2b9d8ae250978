# SPDX-License-Identifier: MIT
# limit: 900
# Direct calls while everything moves: sessions come, are killed at any moment and go, a processor goes off and on, calls
# recurse and sleep, the module is exchanged; what each call has kept is its own to the end.
[ -d /sys/module/kprobe_lua_stubs ] || lacks 'a kernel without direct calls'
target_lua
calls() { # until it is killed
    while :; do
        echo 'recurse 40' > /sys/module/kpl_target/parameters/run
        echo 'values 20' > /sys/module/kpl_target/parameters/run
        cat /proc/self/status /proc/meminfo > /dev/null
    done
}
for i in 1 2 3; do calls & pids="$pids $!"; done
cpu=/sys/devices/system/cpu/cpu1/online
[ -e $cpu ] && while :; do echo 0 > $cpu; echo 1 > $cpu; sleep 0.3; done &
pids="$pids $!"
# what a call keeps: its task, and where its frame lies; kept values of recursive calls differ
script stress.lua <<'LUA'
local wrong, n = count(), count()
local function entry(p) p.data.task = tid() p.data.sp = p.sp p.data.again = p.sp end
local function ret(p)
  n:add()
  if p.data.task ~= tid() or p.data.sp + 8 ~= p.sp or p.data.again ~= p.data.sp then wrong:add() end
end
kretprobe { { "kpl_t_recurse", "kpl_t_six", "kpl_t_args14", "kpl_t_by_value", "kpl_t_triple", "kpl_t_wide", "vfs_read", "vfs_open",
  "ksys_read", "do_sys_openat2", "seq_read_iter", "__x64_sys_close" }, entry = entry, ret = ret }
kretprobe { "kpl_t_many", via = "direct", entry = entry, ret = ret }
kretprobe { "kpl_t_sleep", via = "direct", entry = entry, ret = ret }
at_exit(function() print("counted", n:value() > 0, "wrong", wrong:value()) end)
LUA
round=0
while [ $round -lt 4 ]; do
    round=$((round + 1))
    start kprobe-lua stress.lua
    [ $((round % 4)) = 3 ] || armed # at times before it is armed
    [ $((round % 4)) != 2 ] || echo 'sleep 30' > /sys/module/kpl_target/parameters/run
    if [ $((round % 2)) = 0 ]; then
        wait_for '^armed in ' err
        kill -INT "$pid"
        finish
        status 0
        line 'counted	true	wrong	0'
        no_err ' [1-9][0-9]* stopped'
    else
        kill -KILL "$pid"
        finish
        left_nothing
        rmmod kprobe_lua || fail "the module can't be unloaded in round $round"
        insmod "$KPL_MODULE" || fail "the module can't be loaded again"
    fi
done
# shellcheck disable=SC2086 # process ids
kill -KILL $pids
# shellcheck disable=SC2086 # one that was inside the kernel ends what it was at
wait $pids
echo 1 > $cpu
target 'values 100' > wrong
[ "$(cat wrong)" = 0 ] || fail "wrong values: $(cat wrong)"
