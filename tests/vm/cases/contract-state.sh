# SPDX-License-Identifier: MIT
run kprobe-lua -c 'sleep 0.2; sh -c "sleep 0.05; exit 3"; true' "$KPL_ROOT/tests/data/scripts/state.lua"
status 0
out '^[0-9]+ <- [0-9]+ sleep [0-9]+ ms status 0$'
out '^[0-9]+ <- [0-9]+ sh [0-9]+ ms status 3$'
awk '/sleep/ && $5 >= 200 { found = 1 } END { exit !found }' out || fail 'no sleep of 200 ms'
