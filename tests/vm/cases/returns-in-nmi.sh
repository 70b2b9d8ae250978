# SPDX-License-Identifier: MIT
# limit: 600
# A return probe by the kernel's own way on what NMIs call, too, while another CPU calls it all the time. On 6.12, a call
# in an NMI is not followed, and counted: the kernel's pool of instances would be left so that the next call never ends.
script nmi.lua <<'LUA'
local returns, stacks = count(), count()
kretprobe { "unwind_next_frame", via = "kretprobe", ret = function() returns:add() end }
kprobe { "read_zero", pre = function() for i = 1, 20 do stacks[kstack(16)]:add() end end }
LUA
cat > nmis.sh <<'SH'
# What is printed without a level has that of debugging: consoles may be late with it.
echo 1 7 1 7 > /proc/sys/kernel/printk
taskset 2 dd if=/dev/zero of=/dev/null bs=1 2>/dev/null &
i=0
while [ $i -lt 1000 ]; do i=$((i+1)); echo l > /proc/sysrq-trigger; done
kill %1
SH
levels=$(cat /proc/sys/kernel/printk)
run kprobe-lua -v --cpu-share 100 -c 'sh nmis.sh' nmi.lua
echo "$levels" > /proc/sys/kernel/printk
status 0
err '^unwind_next_frame \(.*\): [1-9][0-9]* hits = [1-9]'
# Six or seven calls of each NMI. Two of these are missed in any case, since they come within another probe's work.
missed=$(sed -n 's/^unwind_next_frame ([^)]*): .* \([0-9]*\) missed$/\1/p' err)
[ "$(uname -r | cut -d. -f1-2)" = 6.1 ] || [ "$missed" -ge 3000 ] || fail "1,000 NMIs made calls, and $missed were missed"
left_nothing
