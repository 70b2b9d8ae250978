# SPDX-License-Identifier: MIT
# A race of the kernel's own: none of our modules has a frame in the report.
while read -r line; do echo "<3>$line" > /dev/kmsg; done << 'REPORT'
==================================================================
BUG: KCSAN: data-race in process_scheduled_works / wq_worker_tick

write to 0xffff888003a1c2e8 of 8 bytes by interrupt on cpu 0:
 wq_worker_tick+0x4e/0x120
 update_process_times+0x8d/0xb0

read to 0xffff888003a1c2e8 of 8 bytes by task 30 on cpu 1:
 process_scheduled_works+0x10/0x20
 kthread+0x1a2/0x1e0

value changed: 0x0000000000000004 -> 0x0000000000000005

Reported by Kernel Concurrency Sanitizer on:
CPU: 1 UID: 0 PID: 30 Comm: kworker/1:1 Tainted: G           O       6.12.117-kcsan #1
==================================================================
REPORT
