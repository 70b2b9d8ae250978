# SPDX-License-Identifier: MIT
# Every kind of aggregation, with every kind of key, is exact: hits known, from two CPUs at once.
script reads.sh <<'SH'
for cpu in 0 1; do taskset -c $cpu dd if=/dev/zero of=/dev/null bs=$((8 + cpu * 8)) count=3000 2>/dev/null & done
wait
SH
script all.lua <<'LUA'
local n, s, a, lo, hi, st, h, l = count(), sum(), avg(), min(), max(), stats(), hist(), lhist(0, 32, 8)
local by_size, by_comm, by_func, by_stack, by_two = count(), sum(), count(), sum(), hist()
kprobe("read_zero", function(p, file, buf, size)
  n:add(); s:add(size); a:add(size); lo:add(size); hi:add(size); st:add(size); h:add(size - 8); l:add(size)
  by_size[size]:add()
  by_comm[comm()]:add(size)
  by_func[p.func]:add()
  by_stack[kstack(2)]:add(2)
  by_two[{ comm(), size }]:add(-size)
end)
at_exit(function()
  print(n:value(), s:value(), a:value(), lo:value(), hi:value())
  local v = st:value()
  print(v.count, v.sum, v.min, v.max, v.avg)
  print(h:value().count, h:value()[2], h:value()[6], l:value()[3], l:value()[4])
  print(by_size:value(8), by_size:value(16), by_size:value(7), by_comm:value "dd", by_func:value "read_zero")
  for stack, twice in by_stack:pairs() do print(stack[1]:match "^[%w_]+", twice) end
  print(by_two:value({ "dd", 8 }).count, by_two:value({ "dd", 16 })[1])
  print(by_size:top(1)[1].value, #by_size:top(5))
end)
LUA
run kprobe-lua -v -c 'sh reads.sh' all.lua
status 0
line '6000	72000	12	8	16'
line '6000	72000	8	16	12'
line '6000	3000	3000	3000	3000'
line '3000	3000	0	72000	6000'
line 'read_zero	12000'
line '3000	3000'
line '3000	2'
err '^read_zero \([^ ]+:[0-9]+\): 6000 hits = 6000 handled'
