# SPDX-License-Identifier: MIT
# Switches of the whole system: shown, set, refused; and a run that they silence says which.
run kprobe-lua knobs
status 0
out '^kprobes +1 +kprobes are enabled$'
out '^ +0 would be: ftrace is switched off: probes on functions are not hit$'
out '^memory +[0-9]+ +percent of the memory'
run kprobe-lua -f json knobs
status 0
out '"name":"jit",.*"value":"[12]","meaning":"JIT is on'
run kprobe-lua knobs kprobes 0
status 0
out '^kprobes +0 +kprobes are switched off: none is hit$'
[ "$(cat /sys/kernel/debug/kprobes/enabled)" = 0 ] || fail 'not set'
run kprobe-lua -c 'cat /proc/stat > /dev/null' -e 'local n = count() kprobe { "vfs_read", via = "kprobe", pre = function() n:add() end }'
status 1
one_error
err "^-e:1: can't probe vfs_read: kprobes are switched off: kprobe-lua knobs kprobes 1$"
# also where the kernel would hide it behind one that it could optimize
run kprobe-lua -c true -e 'kprobe { "kprobe_lua:kpl_bench_optimized", via = "kprobe", pre = function() end }'
status 1
one_error
err 'kprobes are switched off'
run kprobe-lua -c 'cat /proc/stat > /dev/null' -e 'local n = count() kprobe { "vfs_read", via = "ftrace", pre = function() n:add() end }'
status 0
out '^@n: [1-9]'
err '^warning: kprobes are switched off: none is hit; kprobe-lua knobs kprobes 1 ends that$'
run kprobe-lua knobs kprobes 1
status 0
run kprobe-lua -c 'cat /proc/stat > /dev/null' -e 'local n = count() kprobe { "vfs_read", via = "kprobe", pre = function() n:add() end }'
out '^@n: [1-9]'
no_err warning
# a switch that ftrace's own users hold is not turned, and says so
run kprobe-lua knobs ftrace 0
status 0
run kprobe-lua -c true -e 'kprobe { "vfs_read", pre = function() end }'
status 1
err "^-e:1: can't probe vfs_read: ftrace is switched off or in another's hands"
run kprobe-lua knobs ftrace 1
status 0
run kprobe-lua -c 'kprobe-lua knobs ftrace 0' -e 'kprobe { "vfs_read", pre = function() end }'
err 'ftrace_enabled: Device or resource busy'
# refused
run kprobe-lua knobs kprobe
status 2
err "^kprobe-lua: there is no knob 'kprobe' \(did you mean kprobes\?\); kprobe-lua knobs lists them"
run kprobe-lua knobs jit 7
status 2
err "^kprobe-lua: jit does not take '7'; it takes$"
err '^  0: JIT is off: handlers are interpreted$'
for number in many 0 101; do
    run kprobe-lua knobs memory $number
    status 2
    err 'memory takes a number from 1 to 100: percent'
done

# ---- what is placed already: jumps go and come back; a switch for all enables nothing that is disabled
script placed.lua <<'LUA'
kprobe { "kprobe_lua:kpl_bench_optimized", via = "kprobe", pre = function() end }
kprobe { "kprobe_lua:kpl_bench_stepped", via = "kprobe", enabled = false, pre = function() end }
LUA
start kprobe-lua placed.lua
armed
list=/sys/kernel/debug/kprobes/list
until_true 'a jump' grep -q 'kpl_bench_optimized.*OPTIMIZED' $list
kprobe-lua knobs optimization 0 > /dev/null
grep 'kpl_bench_optimized' $list | grep -q OPTIMIZED && fail 'still a jump'
kprobe-lua knobs kprobes 0 > /dev/null
kprobe-lua knobs kprobes 1 > /dev/null
grep -q 'kpl_bench_stepped.*DISABLED' $list || fail "enabled by the switch: $(cat $list)"
kprobe-lua knobs optimization 1 > /dev/null
until_true 'a jump again' grep -q 'kpl_bench_optimized.*OPTIMIZED' $list
kill -INT "$pid"
finish
status 0
left_nothing
