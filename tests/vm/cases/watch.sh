# SPDX-License-Identifier: MIT
# limit: 900
# Watchpoints: each write to a variable of the target, with what was there before; lengths, neighbours, the fifth; what is wrong.
target_lua
script watch.lua <<'LUA'
local target = require "target"
local writes, seen = event(), count()
local one = watch { "kpl_target:kpl_t_watched", len = 8, on = "w", function(p, before, after)
  writes { before = before, after = after, at = sym(p.ip), same = p.args.after == after }
end }
local other = watch { "kpl_target:kpl_t_neighbour", on = "rw", function(p, before, after) seen[before == after]:add() end }
writes:each(function(e) print(e.before, e.after, (e.at:gsub("+.*", "")), e.same) end)
target.steps {
  function() target.call "watched 3" end,
  function()
    print("hits", one:stats().hits, other:stats().hits, seen:value(true))
    one:disable()
    print(one.state, other.state)
  end,
  function() target.call "watched 2" end,
  function() one:enable() end,
  function() target.call "watched 1" end,
  function() print("again", one:stats().hits) end,
}
LUA
run kprobe-lua -q watch.lua
status 0
line '0	1	kpl_t_watch	true'
line '1	2	kpl_t_watch	true'
line '2	3	kpl_t_watch	true'
line 'hits	3	3	3'
line 'disabled	armed'
line '2	1	kpl_t_watch	true'
line 'again	4'
refuses "no symbol 'jiffies_46' in this kernel; near to it: jiffies_64" 'watch { "jiffies_46", function() end }'
refuses "watch: 8 bytes are watched at a multiple of 8, and jiffies_64\+0x4 lies at 0x" 'watch { "jiffies_64+4", len = 8, function() end }'
refuses "watch: 'len' must be 1, 2, 4 or 8" 'watch { "jiffies_64", len = 3, function() end }'
refuses 'watch: .on. must be "w" or "rw"' 'watch { "jiffies_64", on = "r", function() end }'
refuses "watch: 0x8000000000000000 is not an address of the kernel's data" 'watch { 0x8000000000000000ULL, function() end }'
refuses "watch: 0x400000 is not an address of the kernel's data" 'watch { 0x400000, function() end }'
refuses "can't probe 0xffffc7ffffff0000: no memory of the kernel lies there" 'watch { 0xffffc7ffffff0000ULL, function() end }'
refuses "'current_task' is a variable of each CPU: watch one copy|no symbol 'current_task'" 'watch { "current_task", function() end }'
# Nor can what the processor goes over on its way into the trap itself, or the handler of the trap on its way back: of each CPU,
# and where the registers of a program lie that has met a trap.
refused_at() { # SYMBOL EXPRESSION HOW [LENGTH]
    grep -q " $1\$" /proc/kallsyms || return 0
    script first.lua << LUA
kprobe("vfs_read", function() printf("%x\n", $2) exit(0) end)
LUA
    run kprobe-lua -q -c 'cat /proc/version' first.lua
    first=$(grep -oE '^[0-9a-f]{16}$' out | head -1)
    refuses "can't probe 0x$first: the processor can't watch it" "watch { 0x${first}ULL, len = ${4:-8}, on = '$3', function() end }"
}
of_cpu='kvar("__per_cpu_offset", "uint64_t")'
for own in x86_spec_ctrl_current cpu_current_top_of_stack pcpu_hot this_cpu_off; do
    refused_at $own "$of_cpu + kaddr(\"$own\")" rw
done
refused_at cpu_number "$of_cpu + kaddr(\"cpu_number\")" rw 4
! grep -q ' __stack_chk_fail$' /proc/kallsyms || refused_at fixed_percpu_data "$of_cpu + 0x28" rw
refused_at pcpu_hot "$of_cpu + kaddr(\"pcpu_hot\") + 24" rw
refused_at __cpu_online_mask 'kaddr("__cpu_online_mask")' rw
size=16384
grep -q ' kasan_report$' /proc/kallsyms && size=32768
(while :; do cat /dev/null; done) &
forker=$!
run kprobe-lua -q -e "kprobe('kernel_clone', function() if pid() == $forker then printf('%x\n', task().stack) exit(0) end end)"
stack=$(head -n 1 out)
for below in 8 168; do
    top=$(printf %x $((0x$stack + size - below)))
    refuses "can't probe 0x$top: the processor can't watch it" "watch { 0x${top}ULL, len = 8, function() end }"
done
run kprobe-lua -q -c true -e "watch { 0x$(printf %x $((0x$stack + size - 176)))ULL, len = 8, function() end }"
status 0
kill $forker
run kprobe-lua -e 'for i = 0, 4 do watch { "jiffies_64", len = 1, function() end } end'
status 1
err "can't probe jiffies_64: no debug register is free on some CPU.*; 4 are this script.s$"
# A module's data goes with it, the others stay.
script gone.lua <<'LUA'
local target = require "target"
local one = watch { "kpl_target:kpl_t_watched", function() end }
local other = watch { "jiffies_64", function() end }
target.steps {
  function() target.call "watched 3" end,
  function() os.execute "rmmod kpl_target" end,
  function()
    print(one.state, one:stats().hits, other.state, other:stats().hits > 0)
    print(pcall(one.enable, one))
  end,
}
LUA
run kprobe-lua -q gone.lua
status 0
line 'gone	3	armed	true'
out "^false	gone.lua:[0-9]+: the probe's module was unloaded"
target > /dev/null
# a writer that is everywhere, and a handler that reads and sends
run kprobe-lua -q -c 'sh -c "i=0; while [ \$i -lt 300 ]; do i=\$((i+1)); cat /dev/null; done"' -e 'watch { "total_forks", function(p, before, after) printf("%d %s\n", after - before, comm()) end }'
status 0
out '^1 sh$'
left_nothing
