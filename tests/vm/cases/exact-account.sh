# SPDX-License-Identifier: MIT
# hits = handled + stopped + skipped + missed, with a workload whose hits are known: 300 reads of /dev/zero.
script exact.lua <<'LUA'
local seen = event()
kprobe("read_zero", function() seen { pid = pid() } end)
local n = 0
seen:each(function() n = n + 1 end)
at_exit(function() print("n=" .. n) end)
LUA
run kprobe-lua -v -c 'dd if=/dev/zero of=/dev/null bs=8 count=300 2>/dev/null' exact.lua
status 0
line 'n=300'
err '^read_zero \([^ ]+:[0-9]+\): 300 hits = 300 handled \+ 0 stopped \+ 0 skipped \+ 0 missed$'
err '^events: 300 sent = 300 delivered \+ 0 lost$'
