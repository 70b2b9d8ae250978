# SPDX-License-Identifier: MIT
# parallel: so that it is run again; it strays on one thread, too, and that counts
echo "<4>watchdog: BUG: soft lockup - CPU#1 stuck for 22s!" > /dev/kmsg
