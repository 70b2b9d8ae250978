# SPDX-License-Identifier: MIT
# A tracer's own hits: what it prints is a hit again, for ever, and it is said so; --no-self and when.self leave them out.
dd='dd if=/dev/zero of=f bs=8 count=50 2> /dev/null; ustacked mallocs 5'
advice='^about [0-9]+ % of the hits are of this process itself: --no-self leaves them out$'
own='local own, n = io.open("/proc/self/stat"):read "*n", 0
  local function write() for i = 1, 40 do local f = io.open("own", "w") f:write(i) f:close() end end'
handler='function() if pid() == own then print("own") else print(comm()) end end)'
for probe in 'kprobe("vfs_write",' 'syscall("write",' 'tracepoint("raw_syscalls:sys_enter",' 'uprobe("libc:malloc",'; do
    run kprobe-lua --wake-latency=0 -e "$own $probe $handler every(0.01, function() n = n + 1 write() print(n) if n > 50 then exit() end end)"
    status 0
    out '^own$'
    err "$advice"
    run kprobe-lua --no-self -c "$dd" -e "$own $probe $handler"
    status 0
    out '^(dd|ustacked)$'
    no_out '^own$'
    no_err "$advice"
done
run kprobe-lua -c "$dd" -e 'local all, others = count(), count()
  kprobe("vfs_write", function() all[comm()]:add() end)
  kprobe { "vfs_write", when = { self = false }, pre = function() others[comm()]:add() print(1) end }'
out '^@others\[dd\]: 5[0-9]$'
no_out '^@others\[kprobe-lua\]'
out '^@all\[kprobe-lua\]: [0-9]+$'
run kprobe-lua -e 'kprobe { "vfs_write", when = { self = true }, pre = function() end }'
status 1
err "'self' must be false"
left_nothing
