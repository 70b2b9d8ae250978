# SPDX-License-Identifier: MIT
# ^C reaches the run inside, which drains and prints; the output came before the end.
cat > wait.lua <<'LUA'
kprobe("vfs_read", function() end)
print("waiting")
io.stdout:flush()
at_exit(function() print("at exit") end)
LUA
start env --default-signal=INT kprobe-lua --vm=6.1 wait.lua
wait_for waiting
sleep 2
kill -INT "$pid"
finish
status 0
line 'at exit'
