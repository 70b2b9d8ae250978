# SPDX-License-Identifier: MIT
# The kernel's log tells who probes, from when to when; who does not read any more; and a dead man's session is detached.
target_lua
log() { dmesg | grep 'kprobe_lua: '; }
# Ten lines of a kind in five seconds, and no more: others may have had them. The kernel counts by its ticks, which may come
# late: a second more or less.
are_over() {
    last=$(log | tail -n 1 | sed -n 's/^\[ *\([0-9]*\)\..*/\1/p')
    [ $(($(cut -d . -f 1 /proc/uptime) - ${last:-0})) -gt 6 ]
}
until_true "the log's five seconds are over" are_over
echo 'kpl-case: many sessions' > /dev/kmsg
run abi_test --sessions 1 # five seconds begin, and what was dropped before is told
status 0
run abi_test --sessions 40
status 0
# Since then, of a kind: the lines, those that the kernel says were dropped, and what may come in the time from the first
# line to the last.
counts() {
    dmesg | sed '1,/kpl-case: many sessions/d; s/^\[ *//; s/\]//' | awk -v line="abi_test: $1 " -v dropped="kpl_log_$1: " '
        index($0, line) { if (!lines++) first = $1; last = $1 }
        index($0, dropped) && lines { for (i = 2; i < NF; i++) if ($(i + 1) == "callbacks") rest += $i }
        END { print lines + 0, rest + 0, 10 * (int((last - first) / 4) + 1) }'
}
made=41
add_up() {
    for kind in armed ended; do
        counts "$kind" > counts
        read -r lines rest _ < counts
        [ $((lines + rest)) = "$made" ] || return 1
    done
}
for kind in armed ended; do
    counts "$kind" > counts
    read -r lines _ allowed < counts
    [ "$lines" -gt 0 ] && [ "$lines" -le "$allowed" ] || fail "$lines lines of those $kind, where $allowed may come"
done
for try in 1 2 3; do
    until_true "the log's five seconds are over" are_over
    run abi_test --sessions 1 # which tells how many were dropped
    made=$((made + 1))
    ! add_up || break
done
add_up || fail "$made sessions, and lines and dropped ones of those $kind: $(cat counts)"

# Whoever it is.
chmod 666 /dev/kprobe-lua
run abi_test --sessions 1 1000
chmod 600 /dev/kprobe-lua
status 0
log > out
out 'kprobe_lua: process [0-9]+ \(abi_test\), user 1000, abi_test: armed 1 probes$'
out 'kprobe_lua: process [0-9]+ \(abi_test\), user 1000, abi_test: ended with 1 probes, 0 hits, '

script who.lua <<'LUA'
local target = require "target"
kprobe("kpl_t_plain", function(p) local x = 1 / (tid() - pid()) end)
kretprobe { "kpl_t_outer", entry = function() end, ret = function() end }
target.steps { function() target.call("plain 3") target.call("outer 2") end }
LUA
run kprobe-lua who.lua
status 0
log > out
line "$(log | grep -o '^.*process [0-9]* (kprobe-lua), user 0, who.lua: armed 2 probes$')"
out 'kprobe_lua: process [0-9]+ \(kprobe-lua\), user 0, who\.lua: armed 2 probes$'
out 'kprobe_lua: process [0-9]+ \(kprobe-lua\), user 0, who\.lua: ended with 2 probes, 5 hits, 0 missed, 3 stopped, 0 events lost$'

# What the kernel has missed for it is missed, too; what is not armed is not told as armed.
script missed.lua <<'LUA'
local target = require "target"
local seen = count()
kprobe { "kpl_t_plain", via = "kprobe", pre = function() seen[ustr(0)]:add() end }
local inner = kprobe { "copy_from_user_nofault", via = "kprobe", enabled = false, pre = function() end }
target.steps { function() inner:enable() target.call("plain 7") end }
LUA
run kprobe-lua missed.lua
status 0
log > out
out 'missed\.lua: armed 1 probes$'
out 'missed\.lua: ended with 2 probes, [0-9]+ hits, ([7-9]|[1-9][0-9]+) missed, '
lines=$(log | wc -l)
run kprobe-lua -c true -e 'kprobe { "vfs_llseek", enabled = false, pre = function() end }'
status 0
[ "$(log | wc -l)" = "$lines" ] || fail 'told of a session that armed nothing'

# A name is text and no more, and cut at 63 bytes.
name=$(printf 'evil\nkprobe_lua: x%064d' 1)
printf 'kprobe("vfs_llseek", function() end)' > "$name"
run kprobe-lua -c true "./$name"
status 0
log > out
out 'kprobe_lua: process [0-9]+ \(kprobe-lua\), user 0, evil\?kprobe_lua: x0+: armed 1 probes$'

# Of nobody, where the administrator wants none.
echo 0 > /sys/module/kprobe_lua/parameters/log_sessions
before=$(log | wc -l)
run kprobe-lua -c true -e 'kprobe("vfs_llseek", function() end)'
status 0
[ "$(log | wc -l)" = "$before" ] || fail "told all the same"
echo 1 > /sys/module/kprobe_lua/parameters/log_sessions

# One that is stopped: nothing is read, what its rings can't hold is lost; after its time it is detached, and learns of it.
script stopped.lua <<'LUA'
local e, n = event(), 0
kprobe("kpl_t_plain", function() e { x = 1, text = comm() } end)
e:each(function() n = n + 1 end)
at_exit(function() print(n > 10 and "the rings" or n) end)
LUA
KPROBE_LUA_VERBOSE=1 kprobe-lua stopped.lua > few_out 2> few_err & # with room for all
few=$!
armed few_err
target 'plain 3' > /dev/null
kill -STOP "$few"
start kprobe-lua --buffer=4K --dead-man=5 stopped.lua
armed
kill -STOP "$pid"
told() { log | grep -q "process $pid (kprobe-lua), user 0, stopped\.lua: $1"; }
few_told() { log | grep -q "process $few (kprobe-lua), user 0, stopped\.lua: does not read its events, 0 are lost so far"; }
round() {
    target 'plain 500' > /dev/null
    told "$1"
}
until_true 'the reader is missed' round 'does not read its events, [1-9][0-9]* are lost'
until_true 'the other reader is missed' few_told
kill -CONT "$few"
kill -INT "$few"
wait "$few" || true
until_true 'the session is detached' told 'no sign of life for 5 seconds: detached'
left_nothing_armed() { ! grep -q kpl_t_ /sys/kernel/debug/kprobes/list && ! grep -q kpl_t_ /sys/kernel/tracing/enabled_functions; }
until_true 'nothing is armed' left_nothing_armed
kill -CONT "$pid"
finish
status 1
err 'nothing was heard of this process for 5 seconds \(--dead-man\): everything is detached'
line 'the rings'
left_nothing

# One whose callback lasts, and that then exits as if all were well, learns of it, too.
script lasting.lua <<'LUA'
kprobe("kpl_t_plain", function() end)
every(0.1, function()
  os.execute "until dmesg | grep -q 'lasting.lua: no sign of life'; do sleep 0.2; done"
  exit(0)
end)
LUA
run kprobe-lua --dead-man=2 lasting.lua
status 1
err 'nothing was heard of this process for 2 seconds \(--dead-man\): everything is detached'

# One that is alive is left alone, also where it has nothing to do.
run kprobe-lua --dead-man=5 --timeout=8 -e 'kprobe("kpl_t_outer", function() end)'
status 0
