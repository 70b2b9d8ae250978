# SPDX-License-Identifier: MIT
# Lists that handlers gather: in events, keys, values; the arguments of execve in one event.
script exec.lua <<'LUA'
local execs = event()
kprobe { "__x64_sys_execve", pre = function(p, regs)
  local argv = ffi.cast("const char user *const user *", regs.si)
  local e = { pid = pid(), comm = comm(), file = try(ustr(regs.di), ""), args = {} }
  for i = 0, 19 do
    if argv[i] == nil then break end
    e.args[i + 1] = ustr(argv[i], 128)
  end
  execs(e)
end }
execs:each(function(e) print(#e.args, table.concat(e.args, "|")) end)
execs:each_batch(function(b) for _, e in b:iter() do print("batch", table.concat(e.args, "|")) end end)
LUA
# What env was given lies on its stack: it is resident. The program's own constants need not be, in a child that has not used them.
run kprobe-lua -c 'env cat /etc/hostname "two words" > /dev/null 2>&1; env cat 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 > /dev/null 2>&1' exec.lua
status 0
line '3	cat|/etc/hostname|two words'
line 'batch	cat|/etc/hostname|two words'
line '20	cat|1|+|2|+|3|+|4|+|5|+|6|+|7|+|8|+|9|+|10'

script parents.lua <<'LUA'
local by, last, all = count(), map(), event()
kprobe("read_zero", function(p)
  local names, pids, t = {}, {}, task()
  while t.pid > 1 do
    names[#names + 1] = str(t.comm)
    pids[#pids + 1] = t.pid
    t = t.real_parent
  end
  by[{ 1, names }]:add()
  last[1] = { names = names, n = #names }
  all { pids = pids, bits = { t.pid == 1, false }, at = { p.func } }
end)
all:each(function(e) print(#e.pids > 2, e.bits[1], e.bits[2], e.at[1], type(e.pids[1])) end)
at_exit(function()
  for k, n in by:pairs() do print(n, k[1], k[2][1], #k[2] > 2) end
  local v = last:get(1)
  print(v.names[1], #v.names == v.n)
end)
LUA
run kprobe-lua -c 'dd if=/dev/zero of=/dev/null bs=8 count=2 2> /dev/null' parents.lua
status 0
lines 2 '^true	true	false	read_zero	number$'
line '2	1	dd	true'
line 'dd	true'
run kprobe-lua -f json -c 'dd if=/dev/zero of=/dev/null bs=8 count=1 2> /dev/null' -e 'm = map() kprobe("read_zero", function(p)
  local l = {} for i = 1, 3 do l[i] = i end m[1] = { l = l, s = { comm() } } end)
  at_exit(function() print(m) end)'
status 0
out '"1":\{"l":\[1,2,3\],"s":\["dd"\]\}'

run kprobe-lua -c 'dd if=/dev/zero of=/dev/null bs=8 count=1 2> /dev/null' -e 'c = event() kprobe("read_zero", function(p)
  local l, i = {}, 0 while i < 40 do i = i + 1 l[i] = i end c { l = l } end) c:each(function(e) print(#e.l) end)'
status 0
line 32
err '^read_zero.*: 8 .* cut '
