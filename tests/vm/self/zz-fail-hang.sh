# SPDX-License-Identifier: MIT
# Real-time loops on every CPU: not even init gets to run (on 6.1; 6.12's scheduler keeps a share for the others).
echo -1 > /proc/sys/kernel/sched_rt_runtime_us
for cpu in 1 2 3 4; do
    chrt -f 99 sh -c 'while :; do :; done' &
done
sleep 50
