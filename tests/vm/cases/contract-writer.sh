# SPDX-License-Identifier: MIT
# Who changes the kernel's clock.
run kprobe-lua "$KPL_ROOT/tests/data/scripts/writer.lua"
status 0
lines 10 'tick_do_update_jiffies64\+0x'
