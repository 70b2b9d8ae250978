# SPDX-License-Identifier: MIT
run kprobe-lua -c 'dd if=/dev/zero of=/dev/null bs=8 count=300 2>/dev/null' "$KPL_ROOT/tests/data/scripts/count.lua"
status 0
out '^@reads\[dd\]: 30[0-9]$'
