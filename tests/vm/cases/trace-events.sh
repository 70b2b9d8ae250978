# SPDX-License-Identifier: MIT
# Probes as trace events: what is printed goes into kprobe_events by hand, and is hit as often; --install and --remove do it
# with a group of its own; what no event can have is said.
target_lua
tracing=/sys/kernel/tracing
script plain.lua <<'LUA'
local seen, n = event(), count()
kprobe("kpl_t_plain", function(p, a, b, name)
  if a > 2 then seen { first = a, second = p.arg[2], comm = comm(), name = str(name) } end
end)
kretprobe { "kpl_t_plain", maxactive = 7, ret = function(p, sum) seen { sum = sum } end }
kprobe { "kpl_t_outer", when = { comm = "sh" }, pre = function() n:add() end }
kprobe("kpl_t_inner", function() n:add() end) kretprobe("kpl_t_inner", function() n:add() end)
LUA
run kprobe-lua events plain.lua
status 0
out '^p:kprobe_lua/kpl_t_plain_2 kpl_target:kpl_t_plain tested=%di:s64 comm=\$comm first=%di:s64 name=\+0\(%dx\):string second=%si:s64$'
out "^# echo 'tested > 2' > events/kprobe_lua/kpl_t_plain_2/filter$"
out '^r7:kprobe_lua/kpl_t_plain_5 kpl_target:kpl_t_plain sum=\$retval:s64$'
out '^p:kprobe_lua/kpl_t_outer_6 kpl_target:kpl_t_outer$'
out '^p:kprobe_lua/kpl_t_inner_7 kpl_target:kpl_t_inner$'
out '^r:kprobe_lua/kpl_t_inner_7_2 kpl_target:kpl_t_inner$'
mv out by_hand

hits() { # event
    grep -c " $1: " $tracing/trace
}
check_hits() {
    echo > $tracing/trace
    target plain 5 > /dev/null
    target outer 4 > /dev/null
    [ "$(hits kpl_t_plain_2)" = 3 ] || fail "kprobe: $(cat $tracing/trace)"
    [ "$(hits kpl_t_plain_5)" = 5 ] || fail "return probe: $(cat $tracing/trace)"
    grep -q 'kpl_t_plain_2: .* tested=3 comm=".*" first=3 name="plain" second=6' $tracing/trace || fail "fields: $(cat $tracing/trace)"
    grep -q 'kpl_t_plain_5: .* sum=115' $tracing/trace || fail "result: $(cat $tracing/trace)"
}
# by hand: all of it is what kprobe_events takes; then its comments' commands
cat by_hand >> $tracing/kprobe_events || fail "refused: $(cat $tracing/error_log)"
sed -n 's/^# echo/echo/p' by_hand > commands
(cd $tracing && sh "$OLDPWD/commands") || fail 'the commands beside it'
check_hits
run kprobe-lua events --remove
status 0
line '5 events of the group kprobe_lua removed'
grep -q . $tracing/kprobe_events && fail "left: $(cat $tracing/kprobe_events)"
# the same, and the same hits by kprobe-lua itself
echo 'p:mine/other vfs_read' > $tracing/kprobe_events
run kprobe-lua events plain.lua --install
status 0
check_hits
run kprobe-lua events plain.lua --install
status 1
err 'the group kprobe_lua is there already: kprobe-lua events --remove takes it away'
run kprobe-lua events --remove
[ "$(cat $tracing/kprobe_events)" = 'p:mine/other vfs_read' ] || fail "another's event: $(cat $tracing/kprobe_events)"
echo '-:mine/other' >> $tracing/kprobe_events
run kprobe-lua -c 'echo "plain 5" > /sys/module/kpl_target/parameters/run' plain.lua
status 0

# ---- what no event can have
script others.lua <<'LUA'
local n, m, ev, switches = count(), map(), event(), count()
kprobe("vfs_read", function() n[comm()]:add() end)
kprobe("vfs_read", function() m:add(1, 1) end)
kprobe { "vfs_read", pre = function() end, post = function() end }
kretprobe { "vfs_read", entry = function(p) p.data.t = now() end, ret = function(p) ev { t = now() - p.data.t } end }
tracepoint("sched:sched_switch", function() switches:add() end)
kprobe("vfs_read", function(p) ev { t = now() } end)
kprobe("vfs_read", function(p, file, buf, count) if count > 1 and count < 9 then ev { t = count } end end)
LUA
run kprobe-lua events others.lua
status 1
out '^# others.lua:2: kprobe vfs_read: no event can have an aggregation'
out '^# others.lua:3: kprobe vfs_read: no event can have a map\(\)$'
out '^# others.lua:4: kprobe vfs_read: no event can have post$'
out '^# others.lua:5: kretprobe vfs_read: no event can have entry, and what it keeps for ret$'
out '^# others.lua:6: tracepoint sched:sched_switch: no event can have a tracepoint'
out "^# others.lua:7: kprobe vfs_read: no event can have 't'$"
out '^# others.lua:8: kprobe vfs_read: no event can have more than one test'
no_out '^[pr]:'
run kprobe-lua events
status 2
err 'events takes a script'
