# SPDX-License-Identifier: MIT
# Events that were sent but not delivered, after exit() or an error, have a name in the account.
script left.lua <<'LUA'
local seen, n = event(), 0
kprobe("read_zero", function() seen { pid = pid() } end)
seen:each(function(e)
  n = n + 1
  if n == 100 then if arg[1] == "exit" then exit(7) else error("at " .. n) end end
end)
LUA
sums() {
    awk -F'[ +=]+' '/^events:/ { n++; if ($2 != $4 + $6 + $8 || $4 != 100 || $8 == 0) exit 1 } END { exit n != 1 }' err || fail 'the sum is wrong'
}
run kprobe-lua --wake-latency 500 -c 'dd if=/dev/zero of=/dev/null bs=8 count=3000 2>/dev/null' left.lua exit
status 7
sums
err ' left by exit\(\)$'
run kprobe-lua --wake-latency 500 -c 'dd if=/dev/zero of=/dev/null bs=8 count=3000 2>/dev/null' left.lua
status 1
sums
err ' left by the error$'
err '^left.lua:5: at 100$'
