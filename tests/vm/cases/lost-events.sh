# SPDX-License-Identifier: MIT
# A ring that is too small loses events, counts them exactly and says so; --strict makes it an error.
script many.lua <<'LUA'
local seen, n = event(), 0
kprobe("read_zero", function() seen { pid = pid(), comm = comm() } end)
seen:each(function() n = n + 1; for i = 1, 20000 do end end)
at_exit(function() print("n=" .. n) end)
LUA
run kprobe-lua --strict --buffer 4K -c 'dd if=/dev/zero of=/dev/null bs=1 count=20000 2>/dev/null' many.lua
status 1
awk -F'[ +=]+' '/^events:/ { exit !($2 == 20000 && $2 == $4 + $6 && $6 > 0) }' err || fail 'the account is wrong'
delivered=$(sed -n 's/^events: .* = \([0-9]*\) delivered.*/\1/p' err)
line "n=$delivered"
run kprobe-lua --strict --buffer 4M -c 'dd if=/dev/zero of=/dev/null bs=1 count=20000 2>/dev/null' many.lua
status 0
line 'n=20000'
