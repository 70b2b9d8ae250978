# SPDX-License-Identifier: MIT
# Each example of examples/embed does what it says.
build=${KPL_MODULES%/kmod}
examples=$KPL_ROOT/examples/embed

# C: JSON lines, a timer and standard input in one loop.
mkfifo input
example_opens /etc/hostname > out 2> err < input &
pid=$!
exec 3> input
wait_for '^watching /etc/hostname$' err
for _ in 1 2 3 4 5; do cat /etc/hostname /etc/group > cat.out 3>&-; done
wait_for '^[1-9][0-9]* opens so far$' err
echo stop >&3
exec 3>&-
finish
status 0
lines 5 '^\{"pid":[0-9]+,"comm":"cat","path":"/etc/hostname","fd":3\}$'
no_out "/etc/group"
left_nothing

# C++: a table each second, and a histogram.
example_latency vfs_read 3 > out 2> err &
pid=$!
wait_for '^timing vfs_read$' err
dd if=/dev/zero of=/dev/null bs=1 count=1000 2> dd.err
finish
status 0
calls=$(awk '$1 == "dd" { n += $2 } END { print n + 0 }' out)
[ "$calls" -ge 1000 ] || fail "$calls calls of dd in the table, not 1000"
timed=$(awk '/ ns and more / { n += $NF } END { print n + 0 }' out)
[ "$timed" -ge "$calls" ] || fail "$timed calls in the histogram, $calls by dd alone"
lines 3 '^COMMAND +CALLS +AVG ns +MAX ns$'
left_nothing

# Python: events as dictionaries.
export LD_LIBRARY_PATH="$build"
/usr/bin/python3 -I -S "$examples/events.py" "$KPL_ROOT/examples/opensnoop.lua" > out 2> err &
pid=$!
wait_for '^armed$' err
cat /etc/hostname /nonexistent > cat.out 2>&1
wait_for "'path': '/nonexistent'"
kill "$pid"
finish
out "^\{'time': [0-9]+, 'comm': 'cat', 'path': '/etc/hostname', 'pid': [0-9]+, 'ret': 3\}$"
out "'comm': 'cat', 'path': '/nonexistent', 'pid': [0-9]+, 'ret': -2"
left_nothing

# Lua with luv: what a scrape of the endpoint gets.
export LUA_CPATH="$build/lua/?.so;/usr/lib/x86_64-linux-gnu/lua/5.1/?.so"
ip link set lo up
luajit "$examples/metrics.lua" vfs_read 9435 1 > out 2> err &
pid=$!
wait_for '^serving vfs_read on 127.0.0.1:9435$' err
dd if=/dev/zero of=/dev/null bs=1 count=1000 2> dd.err
wget -q -O page http://127.0.0.1:9435/metrics || fail "no answer"
finish
status 0
mv page out
counted=$(sed -n 's/^kernel_calls_total{function="vfs_read",command="dd"} //p' out)
[ "${counted:-0}" -ge 1000 ] || fail "$counted calls of dd, not 1000"
infinite=$(sed -n 's/.*le="+Inf"} //p' out)
out "^kernel_call_duration_ns_count\{function=\"vfs_read\"\} $infinite$"
[ "$infinite" -ge "$counted" ] || fail "$infinite calls were timed, $counted by dd alone"
left_nothing
