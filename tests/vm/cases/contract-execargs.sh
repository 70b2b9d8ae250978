# SPDX-License-Identifier: MIT
# Each argument of an exec, through the process's own pointers.
run kprobe-lua -c 'sh -c "cat /dev/null \"two words\" 2> /dev/null; true"' "$KPL_ROOT/tests/data/scripts/execargs.lua"
status 0
out '^[0-9]+ +sh +cat /dev/null two words$'
