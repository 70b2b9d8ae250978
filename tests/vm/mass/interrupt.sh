# SPDX-License-Identifier: MIT
# ^C while probes are being armed: none is left, exit status 0, and the command has not run.
cat > slow.lua <<'LUA'
local calls = count()
kprobe { "vfs_*", via = "kprobe", pre = function() calls:add() end }
kprobe { "tcp_*", via = "kprobe", pre = function() end }
at_exit(function() print("ended", calls:value()) print(calls) end)
LUA
start kprobe-lua -v -c 'echo ran' slow.lua
some_armed() { [ "$(wc -l < /sys/kernel/debug/kprobes/list)" -gt 20 ]; }
until_true 'the first probes' some_armed
kill -INT "$pid"
finish
status 0
line 'ended	0'
no_out ran
err '^interrupted: none of these probes is armed$'
no_err '^armed in'
[ "$(wc -l < /sys/kernel/debug/kprobes/list)" = 0 ] || fail 'left behind'
