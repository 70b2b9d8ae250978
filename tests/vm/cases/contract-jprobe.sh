# SPDX-License-Identifier: MIT
run kprobe-lua -c 'echo hello > /tmp/x' "$KPL_ROOT/tests/data/scripts/jprobe_example.lua"
status 0
line 'jprobe: name=x count=6 mode=0100644'
