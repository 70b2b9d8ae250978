# SPDX-License-Identifier: MIT
# The same data as text, JSON and folded stacks; bytes that are no UTF-8; streams that are closed or break.
script data.lua <<'LUA'
local unused, by, stacks, h, st, two = count(), count(), count(), hist(), stats(), sum()
kprobe("read_zero", function(p, file, buf, size)
  by[comm()]:add()
  stacks[{ comm(), kstack(2) }]:add()
  h:add(-size) h:add(0) h:add(3)
  st:add(size)
  two[{ size, p.func }]:add(-1)
  printf("%s|%5d|%-6s|\n", comm(), size, "x")
end)
LUA
# A process whose name has a byte that no UTF-8 text has.
script name.sh <<'SH'
printf "$(printf 'bad\377x')" > /proc/self/comm
read -r -n 1 byte < /dev/zero
SH
workload='sh name.sh; dd if=/dev/zero of=/dev/null bs=8 count=2 2>/dev/null'
run kprobe-lua -c "$workload" data.lua
status 0
quiet_err
no_out '@unused'
line 'dd|    8|x     |'
line '@by[dd]: 2'
LC_ALL=C grep -aq "^@by\[bad$(printf '\377')x\]: " out || fail 'the bytes of a name are not passed on'
out '^\(\.\.\., 0\) +[0-9]+ \|@{52}\|$'
line '@two[8, read_zero]: -2'
out '^@st: count [0-9]+, average'
run kprobe-lua -f json -c "$workload" data.lua
status 0
quiet_err
LC_ALL=C grep -aq "$(printf '\377')" out && fail 'JSON has bytes that are no UTF-8'
line '{"type":"printf","data":"dd|    8|x     |\n"}'
out '^\{"type":"map","data":\{"@by":\{.*"dd":2.*\}\}\}$'
out '^\{"type":"map","data":\{"@two":\{.*"8,read_zero":-2.*\}\}\}$'
out '^\{"type":"hist","data":\{"@h":\[\{"max":-1,"count":[0-9]+\},\{"min":0,"max":0,"count":[0-9]+\},\{"min":1,"max":1,"count":0\},\{"min":2,"max":3,"count":[0-9]+\}\]\}\}$'
out '^\{"type":"stats","data":\{"@st":\{"count":[0-9]+,"average":'
no_out '@unused'
run kprobe-lua -f folded -o folded -c "$workload" data.lua
status 0
[ ! -s out ] || fail 'stdout is used with -o'
grep -Eq '^dd;[a-z_0-9]+_\[k\];read_zero_\[k\] 2$' folded || fail "no folded stack: $(cat folded)"
# stdout is closed, stderr is closed, the reader is gone.
run sh -c 'exec kprobe-lua -c true data.lua >&-'
status 1
err '^kprobe-lua: stdout is closed: -o FILE writes to a file$'
run sh -c "exec kprobe-lua -v -c '$workload' data.lua 2>&-"
status 0
line '@by[dd]: 2'
run kprobe-lua -o /dev/full -c "$workload" data.lua
status 1
err 'writing output: No space left on device'
for asked in '--check data.lua' '-l data.lua' '-l vfs_read' 'knobs' 'doctor' 'help count' '--help' '--version'; do
    run sh -c "exec kprobe-lua $asked > /dev/full"
    status 1
    err 'writing output: No space left on device'
done
run sh -c 'kprobe-lua -l "*" | head -n 1'
status 0
quiet_err
script forever.lua <<'LUA'
kprobe("read_zero", function() printf("a line\n") end)
LUA
run sh -c 'kprobe-lua -c "dd if=/dev/zero of=/dev/null bs=1 count=3000 2>/dev/null; until [ -e gone ]; do sleep 0.1; done; dd if=/dev/zero of=/dev/null bs=1 count=10 2>/dev/null; sleep 20" forever.lua | (head -n 1; exec <&-; touch gone)'
line 'a line'
quiet_err
# What scripts start does not inherit that SIGPIPE is handled.
script child.lua <<'LUA'
os.execute "yes | head -n 1; echo status $?"
local p = io.popen "sh -c 'kill -PIPE $$; echo alive'"
io.write(p:read "*a" or "") p:close()
LUA
run kprobe-lua child.lua
no_out alive
line y
# Formats that no terminal shows.
script wide.lua <<'LUA'
print(pcall(function() printf("%999999999d", 1) end))
LUA
run kprobe-lua wide.lua
status 0
out '^false	wide.lua:1: '
# Whole numbers are printed in full.
run kprobe-lua -e 'print(2 ^ 53 - 1, -2 ^ 53, 1e14, 0.5, -1, 2 ^ 63)'
status 0
line '9007199254740991	-9007199254740992	100000000000000	0.5	-1	9.2233720368548e+18'
