# SPDX-License-Identifier: MIT
# Tracepoints of the kernel: arguments by name and by place, exact counts, several handlers at one, switched on and off, globs.
cat > signals.sh <<'SH'
trap : USR1
i=0
while [ $i -lt 50 ]; do
    kill -USR1 $$
    i=$((i + 1))
done
SH
script signals.lua <<'LUA'
local first, second, third, narrow = count(), count(), count(), count()
local one = tracepoint("signal:signal_generate", function(p, sig, info, task, group, result)
  if sig == 10 and task.tgid == pid() then first[p.func]:add() end
end)
-- without a group; parameters by name; the fifth in a register, narrower than that
local two = tracepoint { "signal_generate", when = { comm = "sh" }, function(p)
  if p.args.sig == 10 then
    second:add()
    if p.args.result == 0 and p.args.group == 1 and p.arg[1] == 10 then narrow:add() end
  end
end }
local off = tracepoint { "signal:signal_generate", enabled = false, handler = function() third:add() end }
at_exit(function()
  for name, n in first:pairs() do print("first", name, n) end
  print("second", second:value(), narrow:value())
  print("off", third:value(), off.state, off:stats().hits)
  print("states", one.state, two.state, tostring(one))
  local s = one:stats()
  print("account", s.hits - s.handled, s.hits >= 50)
  print("skips", two:stats().hits == two:stats().handled + two:stats().skipped)
end)
LUA
run kprobe-lua -c 'sh signals.sh' signals.lua
status 0
quiet_err
line 'first	signal:signal_generate	50'
line 'second	50	50'
line 'off	0	disabled	0'
line 'states	armed	armed	tracepoint signal:signal_generate (armed)'
line 'account	0	true'
line 'skips	true'
# what is passed is read through, and more than are in registers
script types.lua <<'LUA'
local execs, bytes = event(), count()
tracepoint("sched:sched_process_exec", function(p, task, old_pid, bprm)
  execs { same = task == ffi.cast("struct task_struct *", task), name = str(task.comm), old = old_pid - pid(), file = str(bprm.filename) }
end)
tracepoint { "percpu:percpu_alloc_percpu", optional = true, function(p) if p.args.bytes_alloc >= p.args.size then bytes:add() end end }
execs:each(function(e) print(e.same, e.name, e.old, e.file) end)
LUA
run kprobe-lua -c 'sh -c true' types.lua
status 0
out '^true	sh	0	/.*sh$'
# the stack begins where the tracepoint is, with one probe there and with two
script stacks.lua <<'LUA'
local one, two = count(), count()
tracepoint("sched:sched_process_fork", function(p) one[kstack(2)]:add() end)
tracepoint("sched:sched_process_exit", function(p) two[kstack(2)]:add() end)
tracepoint("sched:sched_process_exit", function(p) end)
at_exit(function()
  for stack, n in one:pairs() do print("fork", stack[1]) end
  for stack, n in two:pairs() do print("exit", stack[1]) end
end)
LUA
run kprobe-lua -c 'sh -c "true | true"' stacks.lua
status 0
out '^fork	kernel_clone\+0x'
out '^exit	do_exit\+0x'
no_out '^(fork|exit)	(__traceiter|kpl_|0x)'
# a glob: all of a group; a handler that names no parameter suits each
script globs.lua <<'LUA'
local hits = count()
local all = tracepoint("sched:sched_process_*", function(p) hits[p.func]:add() end)
at_exit(function()
  for name, n in hits:pairs() do print(name, n > 0) end
  print(all.state)
end)
LUA
run kprobe-lua -c 'true' globs.lua
status 0
line 'sched:sched_process_exit	true'
line 'armed'
# switched in callbacks
script switch.lua <<'LUA'
local n = count()
local switches = tracepoint("sched:sched_switch", function(p, preempt, prev, next) if prev ~= next then n:add() end end)
local step, seen = 0, 0
every(0.05, function()
  if step == 0 and n:value() > 0 then
    switches:disable()
    print(switches.state)
    seen, step = n:value(), 1
  elseif step == 1 then
    print("none while off", n:value() == seen)
    switches:enable()
    step = 2
  elseif step == 2 and n:value() > seen then
    switches:detach()
    print(switches.state)
    exit()
  end
end)
LUA
run kprobe-lua switch.lua
status 0
line 'disabled'
line 'none while off	true'
line 'detached'
left_nothing
