# SPDX-License-Identifier: MIT
# The examples of tracepoints, system calls, watchpoints, clocks and programs show what they say.
examples=$KPL_ROOT/examples
run kprobe-lua -c 'sh -c "true; /bin/true & wait"; uprobed threads 1' "$examples/forks.lua"
status 0
out '^sh\([0-9]+\) -> [0-9]+$'
lines 4 '^uprobed\([0-9]+\) -> [0-9]+ \(thread\)$'
run kprobe-lua -c 'dd if=/dev/zero of=/dev/null bs=8 count=200 2> /dev/null' "$examples/readsizes.lua"
status 0
line '@filled[dd]:'
out '^\[100, 110\) +20[0-9] \|@+\|$'
echo 3 > /proc/sys/kernel/panic
run kprobe-lua -c "echo 5 > /proc/sys/kernel/panic; echo 3 > /proc/sys/kernel/panic" "$examples/watched.lua"
status 0
lines 1 "^sh\([0-9]+\) [a-z_]+\+0x[0-9a-f]+: 3 -> 5$"
lines 1 "^sh\([0-9]+\) [a-z_]+\+0x[0-9a-f]+: 5 -> 3$"
run kprobe-lua -c 'timeout -s KILL 0.5 ustacked calls 1000000000' "$examples/busy.lua"
out '^@samples\[[0-9]+, process\]: [0-9]+$'
run kprobe-lua -c 'ustacked tls 2' "$examples/tlssniff.lua" ustacked
status 0
lines 2 '^ustacked\([0-9]+\) > GET /$'
lines 2 '^ustacked\([0-9]+\) < 200 OK$'
run kprobe-lua -c true "$examples/tlssniff.lua" libnone
status 1
err "no program or library 'libnone'"
