# SPDX-License-Identifier: MIT
# Return probes of calls that sleep: their instances outlive the session that armed them.
script run.lua <<'LUA'
kretprobe { "ksys_read", entry = function(p) p.data.t0 = now() end, ret = function(p) printf("%d\n", now() - p.data.t0) end }
LUA
mkfifo pipe
start kprobe-lua run.lua
armed
(cat pipe > copied) &
sleep 0.3
sh -c 'sleep 1; echo woken' > pipe &
sleep 0.3
kill -KILL "$pid"
finish
status 137
left_nothing
rmmod kprobe_lua || fail "the module can't be unloaded"
sleep 1.5
grep -q woken copied || fail "the sleeper did not wake up"
insmod "$KPL_MODULE" || fail "the module can't be loaded again"
