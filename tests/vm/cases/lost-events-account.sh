# SPDX-License-Identifier: MIT
# parallel: so that rings are read while they are written
# Losses are forced in every way there is, from two CPUs; the sums hold and the hits are those of the workload.
script reads.sh <<'SH'
for cpu in 0 1; do taskset -c $cpu dd if=/dev/zero of=/dev/null bs=8 count=4000 2>/dev/null & done
wait
SH
adds_up() {
    awk -F'[ +=]+' -v hits=8000 '/^events:/ { n++; left = /left by/ ? $8 : 0; if ($2 != hits || $2 != $4 + $6 + left) exit 1 } END { exit n != 1 }' err ||
        fail 'events: the sum is wrong'
    err '^read_zero \([^ ]+:[0-9]+\): 8000 hits = 8000 handled \+ 0 stopped \+ 0 skipped \+ 0 missed$'
}
script sleeps.lua <<'LUA'
local seen, n, last = event(), 0, 0
kprobe("read_zero", function() seen { pid = pid(), comm = comm() } end)
seen:each(function(e)
  assert(e.time >= last); last = e.time
  n = n + 1
  if n % 200 == 0 then os.execute "sleep 0.02" end
end)
at_exit(function() print("n=" .. n) end)
LUA
run kprobe-lua -v --strict --buffer 4K -c 'sh reads.sh' sleeps.lua
status 1
adds_up
delivered=$(sed -n 's/^events: .* = \([0-9]*\) delivered.*/\1/p' err)
line "n=$delivered"
# The same in JSON: the losses told on the way add up to the account's.
run kprobe-lua -v -f json --buffer 4K -c 'sh reads.sh' sleeps.lua
status 0
adds_up
told=$(sed -n 's/^{"type":"lost_events","data":{"events":\([0-9]*\)}}$/\1/p' out | awk '{ n += $1 } END { print n }')
[ "$told" = "$(sed -n 's/^events: .* + \([0-9]*\) lost.*/\1/p' err)" ] || fail "JSON tells of $told lost events"
# All at once.
run kprobe-lua -v --strict --buffer 4M -c 'sh reads.sh' sleeps.lua
status 0
adds_up
line 'n=8000'
# Batches, tiny and large.
script batch.lua <<'LUA'
local seen, n, last = event(), 0, 0
kprobe("read_zero", function() seen { pid = pid(), comm = comm() } end)
seen:each_batch(function(batch)
  for _, e in batch:iter() do assert(e.time >= last); last = e.time end
  n = n + #batch
end)
at_exit(function() print("n=" .. n) end)
LUA
run kprobe-lua -v --wake-latency 0 -c 'sh reads.sh' batch.lua
adds_up
run kprobe-lua -v --wake-latency 200 --wake-fill 50 -c 'sh reads.sh' batch.lua
adds_up
line 'n=8000'
