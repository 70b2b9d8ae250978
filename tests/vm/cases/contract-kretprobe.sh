# SPDX-License-Identifier: MIT
run kprobe-lua -c 'cat /nonexistent 2>/dev/null' "$KPL_ROOT/tests/data/scripts/kretprobe_example.lua"
status 0
out '^[0-9]+ +cat +err=2 /nonexistent$'
line 'missed 0'
