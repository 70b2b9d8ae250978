# SPDX-License-Identifier: MIT
# ^C while probes are being armed: none is left, exit status 0, and the command has not run.
cat > slow.lua <<'LUA'
kprobe { "vfs_*", via = "kprobe", pre = function() end }
kprobe { "tcp_*", via = "kprobe", pre = function() end }
at_exit(function() print("ended") end)
LUA
start kprobe-lua -v -c 'echo ran' slow.lua
some_armed() { [ "$(wc -l < /sys/kernel/debug/kprobes/list)" -gt 20 ]; }
until_true 'the first probes' some_armed
kill -INT "$pid"
finish
status 0
line 'ended'
no_out ran
err '^interrupted: none of these probes is armed$'
no_err '^armed in'
[ "$(wc -l < /sys/kernel/debug/kprobes/list)" = 0 ] || fail 'left behind'
