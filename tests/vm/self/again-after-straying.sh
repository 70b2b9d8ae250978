# SPDX-License-Identifier: MIT
# parallel: so that it is run again, on one thread; the first run shows what a straying emulator does, and fails
[ -z "$KPL_PARALLEL" ] || { echo "<4>watchdog: BUG: soft lockup - CPU#1 stuck for 22s!" > /dev/kmsg; exit 1; }
