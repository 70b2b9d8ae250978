# SPDX-License-Identifier: MIT
# SIGUSR1 prints the aggregations as they stand, and takes nothing from what is printed at the end.
script signal.lua <<'LUA'
local n, unused = count(), count()
kprobe("read_zero", function() n:add() end)
LUA
run kprobe-lua -c 'dd if=/dev/zero of=/dev/null bs=8 count=2 2>/dev/null; kill -USR1 $PPID; until grep -qs "@n: 2" out; do sleep 0.1; done; dd if=/dev/zero of=/dev/null bs=8 count=3 2>/dev/null' signal.lua
status 0
quiet_err
line '@n: 2'
line '@n: 5'
lines 2 .
