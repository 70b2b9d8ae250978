# SPDX-License-Identifier: MIT
# Return probes of calls that sleep: their instances outlive the session that armed them.
script run.lua <<'LUA'
kretprobe { "ksys_read", entry = function(p) p.data.t0 = now() end, ret = function(p) printf("%d\n", now() - p.data.t0) end }
LUA
mkfifo pipe
start kprobe-lua run.lua
armed
cat pipe > copied &
reader=$!
sh -c 'until [ -e go ]; do sleep 0.1; done; echo woken' > pipe &
until_true 'a read that sleeps' grep -q '^0 ' "/proc/$reader/syscall"
kill -KILL "$pid"
finish
status 137
left_nothing
rmmod kprobe_lua || fail "the module can't be unloaded"
touch go
until_true 'the sleeper' grep -q woken copied
insmod "$KPL_MODULE" || fail "the module can't be loaded again"
