# SPDX-License-Identifier: MIT
# limit: 300
# The machine sleeps (S3) while probes are armed, and is woken by its clock: they stand as before, those of the processor that was
# never switched off by the kernel, too.
state=/sys/power/state alarm=/sys/class/rtc/rtc0/wakealarm
grep -qw mem $state && [ -e $alarm ] || lacks 'this machine has no S3, or nothing would wake it'
target_lua
script sleeps.lua <<'LUA'
local writes, calls, returns, ticks = count(), count(), count(), count()
watch { "kpl_target:kpl_t_watched", len = 8, on = "w", function() writes[cpu()]:add() end }
kprobe { "kpl_t_plain", via = "kprobe", pre = function() calls[cpu()]:add() end }
kretprobe { "kpl_t_plain", ret = function() returns[cpu()]:add() end }
profile(99, function() ticks[cpu()]:add() end)
-- where the last processor takes no interrupts yet
local wakes = event()
kprobe { "syscore_resume", via = "kprobe", pre = function() wakes { cpu = cpu() } end }
wakes:each(function() print "awake" end)
LUA
work() {
    for cpu in 0 1; do
        taskset -c $cpu sh -c 'for what in watched plain; do echo "$what 10" > /sys/module/kpl_target/parameters/run; done' ||
            fail "no work on CPU $cpu"
    done
}
start kprobe-lua sleeps.lua
armed
work
for times in 1 2; do
    echo 0 > $alarm
    echo +2 > $alarm
    echo mem > $state || fail 'does not sleep'
    sleep 1
    work
done
awake() { [ "$(grep -c '^awake$' out)" = 2 ]; }
until_true 'what was sent in between is there' awake
kill -INT "$pid"
finish
status 0
for map in writes calls returns; do
    for cpu in 0 1; do line "@$map[$cpu]: 30"; done
done
for cpu in 0 1; do out "^@ticks\[$cpu\]: [1-9]"; done
left_nothing
