# SPDX-License-Identifier: MIT
# What is not there says so, and what to write in its place; all at once.
cat > wrong.lua << 'EOF'
local function f() end
kprobe("tracepoint:sched:sched_switch", f)
kprobe("kprobe:vfs_*", f)
kprobe("/bin/bash:readline", f)
kprobe("interval:s:1", f)
kprobe("sys_open", f)
kprobe("@x", f)
kprobe("BEGIN", f)
kprobe("printk:vprintk_emit", f)
kprobe("printk:no_such", f)
kprobe("no_such:*", f)
EOF
run kprobe-lua wrong.lua
status 1
err "^wrong.lua:2: no function 'tracepoint:sched:sched_switch': write tracepoint\(\"sched:sched_switch\", function\(p\) … end\)"
err "^wrong.lua:3: no function 'kprobe:vfs_\*': write kprobe\(\"vfs_\*\", function\(p\) … end\)$"
err "^wrong.lua:4: no function '/bin/bash:readline': write uprobe\(./bin/bash:readline., function\(p\) … end\)$"
err "^wrong.lua:5: no function 'interval:s:1': write every\(1, function\(\) … end\)$"
err "^wrong.lua:6: no function 'sys_open': write syscall\(\"open\", function\(p\)"
err "^wrong.lua:7: no function '@x': @ is no part of a name here"
err "^wrong.lua:8: no function 'BEGIN': what runs first is the script itself, outside of functions$"
err "^wrong.lua:9: 'printk:vprintk_emit': printk is built into this kernel, and no module of its own: write 'vprintk_emit'$"
err "^wrong.lua:10: 'printk:no_such': printk is built into this kernel, and no module of its own: it has no function 'no_such'$"
err "^wrong.lua:11: 'no_such:\*': the module no_such is not loaded \(modprobe no_such\)$"
run kprobe-lua -e 'kprobe:vfs_read { @[comm] = count(); }'
status 1
err '^-e:1: this is written for bpftrace; here scripts are Lua, and this is$'
err '^  @\[comm\] = count\(\) +local n = count\(\) before the probe, n\[comm\(\)\]:add\(\) in the handler$'
run kprobe-lua -e 'kprobe("vfs_read", function() end) every(0.01, function() local x = nil; print(x.y) end)'
status 1
err "^-e:1: attempt to index local 'x' \(a nil value\)$"
err '^    -e:1: in the function of line 1$'
