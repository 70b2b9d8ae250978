# SPDX-License-Identifier: MIT
# Handlers that change what runs: arguments, registers, results, where it goes on; only with --unsafe, only where they say.
target_lua
plain() { # what kpl_t_plain(1, 2, "plain") gives while a script runs: 1 + 2 + 'p' by itself
    printf '%s\n' "$1" > script.lua
    shift
    run kprobe-lua "$@" -c 'echo "plain 1" > /sys/module/kpl_target/parameters/run && read -r r < /sys/module/kpl_target/parameters/result && echo "$r"' script.lua
}

plain 'kprobe { "kpl_t_plain", pre = function(p) p.arg[1] = 10 end }'
status 1
err '^script.lua:1: p.arg\[1\] changes what the kernel runs: run with --unsafe$'
plain 'kprobe { "kpl_t_plain", pre = function(p) p.arg[1] = 10 end }' --unsafe=inject
status 1
err 'run with --unsafe$'

# ---- arguments and registers, by ftrace and by a breakpoint; what is read is what is there by then
for via in auto kprobe; do
    plain "kprobe { 'kpl_t_plain', via = '$via', pre = function(p, a)
        p.arg[1] = 10
        p.args.b = p.arg[1] + a
        printf('%d %d %d\n', a, p.arg[1], p.regs.si)
    end }" --unsafe
    status 0
    line 133
    line '1 10 11'
    err '^unsafe: kpl_t_plain \(script.lua:1\): registers changed by 1 hits. handlers$'
done
plain 'kprobe { "kpl_t_plain", pre = function(p) p.regs.r11 = 1 end }' --unsafe
err "^script.lua:1: the register 'r11' can't be changed"
plain 'kprobe { "kpl_t_plain", pre = function(p) p.regs.sp = 1 end }' --unsafe
err "^script.lua:1: the register 'sp' can't be changed"
plain 'kprobe { "kpl_t_many", pre = function(p) p.arg[7] = 1 end }' --unsafe
err '^script.lua:1: p.arg\[7\] lies on the stack, which handlers never change'
plain 'kprobe { "kpl_t_plain", post = function(p) p.regs.di = 1 end }' --unsafe
err '^script.lua:1: p.regs.di changes only in pre of a kprobe'
plain 'profile(99, function(p) p.regs.di = 1 end)' --unsafe
err '^script.lua:1: p.regs.di changes only in pre of a kprobe'
plain 'kretprobe { "__x64_sys_close", ret = function(p) p.ret = 1LL * 2 end } kprobe { "vfs_fsync_range", pre = function(p) p.args.datasync = 5000000000 end }' --unsafe
err '^script.lua:1: 5000000000 does not fit p.args.datasync: it takes -2147483648 to 2147483647$'

# ---- results
plain 'kprobe { "kpl_t_plain", pre = function() override(-5) end }' --unsafe
status 0
line -5
err '^unsafe: kpl_t_plain \(script.lua:1\): 1 hits did not go on as they would have$'
plain 'kprobe { "kpl_t_plain", via = "kprobe", pre = function() override(-5) end }' --unsafe
status 1
err 'ftrace has it go on elsewhere; leave via = "kprobe" out'
# of two functions of a run, the one that is armed later meets a direct call, too
script later.lua <<'LUA'
local target = require "target"
kprobe { "kpl_t_plain", pre = function() override(-5) end }
local p = kprobe { "kpl_t_many", enabled = false, pre = function() override(-5) end }
target.steps {
  function() print(pcall(p.enable, p)) end,
  function() print(p.state) target.call "plain 1" end,
  function() print("1 of 1 there: " .. tostring(target.value() == "-5")) end,
}
LUA
start kprobe-lua -e 'kretprobe { "kpl_t_many", via = "direct", ret = function() end }'
armed
kprobe-lua --unsafe later.lua > late 2>&1
grep -q '^disabled$' late || { cat late; fail "an override was armed where a direct call is"; }
grep -q '^1 of 1 there: true$' late || { cat late; fail "the other override is gone"; }
kill -TERM "$pid"
finish
# others of a run come and go: it stays in force meanwhile
script flips.lua <<'LUA'
kprobe { "kpl_t_plain", pre = function() override(-5) end }
local p, flips = kprobe { "kpl_t_many", enabled = false, pre = function() override(-5) end }, 0
every(0.02, function()
  if flips % 2 == 0 then p:enable() else p:disable() end
  flips = flips + 1
  if flips == 4 then io.open("flipped", "w"):close() end
end)
LUA
run kprobe-lua --unsafe -c 'n=0; until [ -e flipped ]; do echo "plain 1" > /sys/module/kpl_target/parameters/run; read -r r < /sys/module/kpl_target/parameters/result; [ "$r" = -5 ] || echo "real: $r"; n=$((n + 1)); done; echo $n' flips.lua
status 0
no_out real
err "^unsafe: kpl_t_plain \(flips.lua:1\): $(cat out) hits did not go on"
for via in auto direct; do
    plain "kretprobe { 'kpl_t_plain', via = '$via', ret = function(p, v) p.ret = v + 1 printf('%d, then %d\n', v, p.ret) end }" --unsafe
    status 0
    line 116
    line '115, then 116'
done
plain 'kprobe { "kpl_t_plain", when = { comm = "other" }, pre = function() override(-5) end }' --unsafe
line 115
err '1 hits = 0 handled .* \+ 1 skipped'
plain 'kprobe { "kpl_t_plain", pre = function(p) if p.arg[1] == 2 then override(-5) end end }' --unsafe
line 115
err '^unsafe: kpl_t_plain \(script.lua:1\): 0 hits did not go on'

# ---- others at the same function see the call; its return is what override gave
plain 'local seen = count()
kprobe { "kpl_t_plain", pre = function() seen:add() end }
kprobe { "kpl_t_plain", pre = function() override(-5) end }
kprobe { "kpl_t_plain", pre = function() seen:add() end }
kretprobe { "kpl_t_plain", ret = function(p, v) printf("returned %d\n", v) end }
kretprobe { "kpl_t_plain", ret = function(p, v) p.ret = v - 1 end }' --unsafe
status 0
out '^-6$'
out '^returned -[56]$'
line '@seen: 2'
# of two that say something else, the later one wins; in another run there is room for one alone
plain 'kprobe { "kpl_t_plain", pre = function() override(-5) end } kprobe { "kpl_t_plain", pre = function() override(-7) end }' --unsafe
line -7
start kprobe-lua --unsafe -e 'kprobe { "kpl_t_plain", pre = function() override(-5) end }'
armed
plain 'kprobe { "kpl_t_plain", pre = function() override(-7) end }' --unsafe
status 1
grep -q 'no livepatch, no other override' err || fail 'two overrides of one function'
plain 'kprobe { "kpl_t_plain", pre = function() end }'
line -5
# ---- killed: the function is as it was
kill -KILL "$pid"
wait "$pid"
until_true 'the function as it was' sh -c "echo 'plain 1' > /sys/module/kpl_target/parameters/run; grep -qx 115 /sys/module/kpl_target/parameters/result"
left_nothing

# ---- where it goes on: over a call; a breakpoint that no jump may replace
offsets=$(kprobe-lua disasm kpl_t_outer | awk '$1 ~ /^\+/ { at = $1; if (call) { print call, at; exit } if (/call/ && !/fentry|ftrace/) call = at }')
call=${offsets% *} behind=${offsets#* }
[ -n "$behind" ] || fail "no call in $(kprobe-lua disasm kpl_t_outer)"
outer() {
    printf '%s\n' "$1" > script.lua
    run kprobe-lua --unsafe -c 'echo "outer 3" > /sys/module/kpl_target/parameters/run && read -r r < /sys/module/kpl_target/parameters/result && echo "$r"' script.lua
}
outer "local inner = count()
kprobe { 'kpl_t_outer$call', pre = function(p) p.regs.ax = 41 p.ip = kaddr('kpl_t_outer') + ${behind#+} end }
kprobe { 'kpl_t_inner', pre = function() inner:add() end }
"
status 0
line 126
no_out '@inner'
err '3 hits did not go on as they would have, registers changed by 3'
# the post handler of a hit that went on elsewhere does not run
outer "kprobe { 'kpl_t_outer$call', pre = function(p) p.regs.ax = 41 p.ip = kaddr('kpl_t_outer') + ${behind#+} end,
  post = function() print 'post' end }"
status 0
line 126
no_out post
# where a jump would take the breakpoint's place, and ignore the address: each of the calls obeys, also later
cat > jump.lua << 'LUA'
local at, out
for i, one in ipairs(instructions "kpl_t_plain") do
  if i > 1 and one.optimize then at = at or one.offset end
  if one.text:find "ret" then out = one.offset end
end
local p = kprobe { ("kpl_t_plain+0x%x"):format(assert(at, "nothing can be optimized")),
  pre = function(p) p.regs.ax = 7 p.ip = kaddr("kpl_t_plain") + out end }
at_exit(function() print(p.state) end)
every(0.1, function()
  local f = assert(io.open("/sys/module/kpl_target/parameters/run", "w"))
  f:write "plain 1"
  f:close()
  print(io.open("/sys/module/kpl_target/parameters/result"):read "*l")
end)
LUA
run kprobe-lua --unsafe --timeout 1.5 jump.lua
status 0
out '^7$'
no_out '^115$'
line int3
outer "kprobe { 'kpl_t_outer$call', pre = function(p) p.ip = kaddr('kpl_t_outer') + ${behind#+} + 1 end }"
status 1
err 'no instruction begins at that address'
outer "kprobe { 'kpl_t_outer$call', pre = function(p) p.ip = p.regs.ax end }"
err '^script.lua:1: p.ip must be a constant'
outer "kprobe { 'vfs_read', pre = function(p) p.ip = kaddr('kpl_t_outer') end }"
err "can't probe vfs_read: p.ip: that address is in a module"
outer "kprobe { 'kpl_t_outer$call', pre = function(p) override(1) end }"
err '^script.lua:1: override leaves a whole function out'

# ---- what can't be left out, and what it may give
outer "kprobe { 'down_read', pre = function() override() end }"
err "^script.lua:1: down_read can't be overridden: it waits, or takes a lock"
outer "kprobe { '_raw_spin_lock', pre = function() override() end }"
err "^script.lua:1: _raw_spin_lock can't be overridden: it takes or releases a lock"
outer "kprobe { 'do_exit', pre = function() override() end }"
err "can't be overridden: it does not return as functions do"
outer "kprobe { 'kfree', pre = function() override(1) end }"
err '^script.lua:1: kfree returns nothing: write override\(\)$'
outer "kprobe { 'vfs_read', pre = function() override() end }"
err '^script.lua:1: override needs the value that vfs_read returns$'
outer "kprobe { 'filp_flush', optional = true, pre = function() end } kprobe { 'path_is_under', pre = function() override(2) end }"
err "^script.lua:1: 2 does not fit override's value: it takes 0 to 1$"

# ---- marked functions alone
inject() { run kprobe-lua --unsafe=inject -c "sh -c 'echo \$PPID'" -e "$1"; }
inject 'kprobe { "kpl_t_plain", pre = function() override(-5) end }'
status 1
err '^-e:1: kernel developers have not marked kpl_target:kpl_t_plain for error injection: --unsafe without =inject'
inject 'kprobe { "__x64_sys_getppid", pre = function() override(5) end }'
err '^-e:1: 5 is not a value that __x64_sys_getppid is marked for: it returns -1 to -4095 then$'
denied() {
    run kprobe-lua --unsafe=inject -c 'mkdir made' -e 'kprobe { "__x64_sys_mkdir", when = { comm = "mkdir" }, pre = function() override('"$1"') end }'
}
denied -13
err 'Permission denied'
[ ! -d made ] || fail 'the system call was made'
denied 'pid()'
no_err 'Permission denied'
err '^-e:1: not a value that kernel developers marked this function for \(1 hit\)'
[ -d made ] || fail 'the system call was not made'

# ---- an administrator's word; only another load of the module takes it back
echo 0 > /sys/module/kprobe_lua/parameters/changes || fail 'not switched off'
echo 1 2> /dev/null > /sys/module/kprobe_lua/parameters/changes && fail 'switched on again'
run kprobe-lua --unsafe -e 'kprobe { "kpl_t_plain", pre = function() override(-5) end }'
status 1
err "^kprobe-lua: --unsafe: this machine's administrator has switched it off"
plain 'kprobe { "kpl_t_plain", pre = function() end }'
line 115
rmmod kprobe_lua && insmod "$KPL_MODULE" || fail "the module can't be loaded again"
