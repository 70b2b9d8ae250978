# SPDX-License-Identifier: MIT
# A burst that a ring of the first size can't hold goes on in a larger one, though nobody reads; the account stays exact and
# events in order. What is not to be had, and --buffer, leave the ring as it is, with nothing uncounted. Killed meanwhile,
# nothing is left.
script burst.lua <<'LUA'
local seen, n, last = event(), 0, 0
kprobe("read_zero", function() seen { pid = pid(), comm = comm() } end)
seen:each(function(e)
  assert(e.time >= last); last = e.time
  n = n + 1
  if n == 1 then print "stands"; io.stdout:flush(); os.execute "until [ -e go ]; do sleep 0.05; done" end
end)
at_exit(function() print("n=" .. n) end)
LUA
# The consumer stands while one CPU sends more than its ring holds.
script burst.sh <<'SH'
dd if=/dev/zero of=/dev/null bs=1 count=1 2>/dev/null
until grep -q stands out; do sleep 0.05; done
taskset 1 dd if=/dev/zero of=/dev/null bs=1 count=24000 2>/dev/null
touch go
SH
exact() {
    handled=$(sed -n 's/^read_zero .* = \([0-9]*\) handled .*/\1/p' err)
    [ "$handled" -ge 24001 ] || fail 'hits are missing'
    awk -F'[ +=;]+' -v "sent=$handled" '/^events:/ { n++; if ($2 != sent || $2 != $4 + $6) exit 1 } END { exit n != 1 }' err ||
        fail 'the sum is wrong'
    line "n=$(sed -n 's/^events: .* = \([0-9]*\) delivered.*/\1/p' err)"
    rm go
}
run kprobe-lua -v --cpu-share 100 -c 'sh burst.sh' burst.lua
status 0
exact
err '^CPU [01] sends faster than events are taken: its ring has 8192K now$'
err '^events: .* \+ 0 lost; a ring grew to 8192K$'
run kprobe-lua -v --cpu-share 100 -f json -c 'sh burst.sh' burst.lua
grep -Eq '^\{"type":"ring_grown","data":\{"cpu":[01],"bytes":8388608\}\}$' out || fail 'JSON tells of no growth'
rm go
# A size that was asked for stays.
run kprobe-lua -v --cpu-share 100 --buffer 1M -c 'sh burst.sh' burst.lua
exact
err '^events: .* \+ [1-9][0-9]* lost$'
# No memory for it: the rings that there are go on.
percent=/sys/module/kprobe_lua/parameters/memory_percent
echo 1 > $percent
run kprobe-lua -v --cpu-share 100 -c 'sh burst.sh' burst.lua
echo 25 > $percent
status 0
exact
err '^the ring of CPU [01] does not grow: '
# It is made, and can't be mapped: nothing was sent there.
{
    echo 'local ffi = require "ffi"
      ffi.cdef "int setrlimit(int, const unsigned long *)"
      local most = io.open "/proc/self/statm":read "*n" * 4096 + 8 * 2 ^ 20
      assert(ffi.C.setrlimit(9, ffi.new("unsigned long[2]", most, most)) == 0)'
    cat burst.lua
} > narrow.lua
stack=$(ulimit -S -s)
ulimit -S -s 1024 # of the thread that asks for it, too
run kprobe-lua -v --cpu-share 100 -c 'sh burst.sh' narrow.lua
ulimit -S -s "$stack"
status 0
exact
err '^the ring of CPU [01] does not grow: mmap: Cannot allocate memory$'
left_nothing
# Killed at any time of it.
for after in 0 0.02 0.05 0.1; do
    start kprobe-lua --cpu-share 100 burst.lua
    armed
    sh burst.sh &
    burst=$!
    until [ -e go ]; do sleep 0.02; done
    sleep $after
    kill -KILL "$pid"
    finish
    wait $burst
    rm go
    left_nothing
done
