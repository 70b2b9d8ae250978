# SPDX-License-Identifier: MIT
# Two probes on one function are told apart; what a probe is, and was at the end; how the command of -c ended.
script two.lua << 'EOF'
local first = kprobe("vfs_read", function() end)
local second = kretprobe { "vfs_read", ret = function() end }
local third = kprobe { "vfs_write", pre = function() end, enabled = false }
at_exit(function() print(first) print(second) print(third) print(first.state, third.state) end)
EOF
run kprobe-lua -v -f json -c 'cat /etc/passwd > /dev/null; exit 3' two.lua
status 0
err '^vfs_read \(two\.lua:1\): ([0-9]+) hits = \1 handled'
err '^vfs_read \(two\.lua:2\) returns: ([0-9]+) hits = \1 handled'
err '^vfs_write \(two\.lua:3\): 0 hits = 0 handled'
err '^the command ended with status 3$'
line '{"type":"command","data":{"status":3}}'
line '{"type":"printf","data":"kprobe vfs_read (ftrace)\n"}'
out '"kretprobe vfs_read \(direct\)\\n"'
line '{"type":"printf","data":"kprobe vfs_write (disabled)\n"}'
line '{"type":"printf","data":"ftrace\tdisabled\n"}'
run kprobe-lua -c 'kill -9 $$' two.lua
status 0
err '^the command was ended by signal 9 \(Killed\)$'
run kprobe-lua -c nosuchcmd two.lua
status 1
err '^kprobe-lua: -c nosuchcmd: not found, or it can.t be run \(ended with status 127\)$'
run kprobe-lua -q -c 'exit 3' two.lua
status 0
quiet_err
