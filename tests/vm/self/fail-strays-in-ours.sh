# SPDX-License-Identifier: MIT
# parallel: the CPU is stuck in our module, so the first run counts; on one thread it would pass
[ -n "$KPL_PARALLEL" ] || exit 0
while read -r line; do echo "<4>$line" > /dev/kmsg; done << 'REPORT'
watchdog: BUG: soft lockup - CPU#1 stuck for 22s!
Call Trace:
 kpl_hit+0x12/0x34 [kprobe_lua]
REPORT
