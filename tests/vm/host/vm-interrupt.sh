# SPDX-License-Identifier: MIT
# ^C reaches the run inside, which drains and prints; which ends well.
cat > wait.lua <<'LUA'
kprobe("vfs_read", function() end)
at_exit(function() print("at exit") end)
LUA
start env --default-signal=INT kprobe-lua --vm=6.1 wait.lua
armed
kill -INT "$pid"
finish
status 0
line 'at exit'
