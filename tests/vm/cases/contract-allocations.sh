# SPDX-License-Identifier: MIT
# What a program allocates, by named stacks: a thousand calls of malloc.
run kprobe-lua -c 'ustacked mallocs 1000' "$KPL_ROOT/tests/data/scripts/allocations.lua"
status 0
out '^    inner\+0x[0-9a-f]+ \[ustacked\]$'
out '^    middle\+0x[0-9a-f]+ \[ustacked\]$'
out '1000.*100,? *total 100000|count 1000, average 100, total 100000'
