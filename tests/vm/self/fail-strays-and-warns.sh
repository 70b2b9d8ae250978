# SPDX-License-Identifier: MIT
# parallel: a straying emulator is not all that the console shows, so the first run counts; on one thread it would pass
[ -n "$KPL_PARALLEL" ] || exit 0
echo "<4>watchdog: BUG: soft lockup - CPU#1 stuck for 22s!" > /dev/kmsg
echo "<4>BUG: KASAN: slab-use-after-free in f+0x1/0x2" > /dev/kmsg
