# SPDX-License-Identifier: MIT
echo "<4>WARNING: CPU: 0 PID: 1 at here.c:1" > /dev/kmsg
