# SPDX-License-Identifier: MIT
# A livepatch of the same function, before our probes and after them: each works, or the later one is refused and the other goes on.
[ -d /sys/kernel/livepatch ] || lacks 'a kernel without livepatches'
target > /dev/null
plain() { target plain 5; } # 605 by itself, 5605 when patched
patch=/sys/kernel/livepatch/kpl_livepatch
settled() { [ "$(cat $patch/transition 2> /dev/null)" = 0 ]; }
patched() {
    insmod "$KPL_LIVEPATCH" 2> patch_err || return
    until_true 'the livepatch' settled
}
unpatched() {
    echo 0 > $patch/enabled
    until_true 'the end of the livepatch' [ ! -d $patch ]
    rmmod kpl_livepatch
}
ended() {
    kill -INT "$pid"
    finish
    status 0
}
[ "$(plain)" = 605 ] || fail "at first: $(plain)"

# ---- ours first
start kprobe-lua -e 'local n = count() kprobe { "kpl_t_plain", via = "ftrace", pre = function() n:add() end }'
armed
patched || fail "by ftrace, then a livepatch: $(cat patch_err)"
[ "$(plain)" = 5605 ] || fail 'not patched under a probe by ftrace'
ended
line '@n: 5'
[ "$(plain)" = 5605 ] || fail 'not patched after the probe'
unpatched
[ "$(plain)" = 605 ] || fail 'still patched'
[ -d /sys/module/kprobe_lua_stubs ] || lacks 'a kernel without direct calls'
for probe in 'kretprobe { "kpl_t_plain", via = "direct", ret = function() n:add() end }' \
    'kprobe { "kpl_t_plain", pre = function() n:add() override(7) end }'; do
    start kprobe-lua --unsafe -e "local n = count() $probe"
    armed
    before=$(refused_to_others)
    ! patched || fail "a livepatch over $probe"
    grep -q 'busy' patch_err || fail "$probe: $(cat patch_err)"
    [ "$(refused_to_others)" -gt "$before" ] || fail "$probe: not counted as refused: $(refused_to_others), $before before"
    before=$(plain)
    case $probe in *override*) expected=35 ;; *) expected=605 ;; esac
    [ "$before" = $expected ] || fail "$probe after a livepatch was refused: $before"
    ended
    line '@n: 5'
    [ "$(plain)" = 605 ] || fail "after $probe: $(plain)"
done

# ---- the livepatch first
patched || fail "alone: $(cat patch_err)"
[ "$(plain)" = 5605 ] || fail 'not patched'
calls='echo "plain 5" > /sys/module/kpl_target/parameters/run'
run kprobe-lua -c "$calls" -e 'local n = count() kprobe { "kpl_t_plain", via = "ftrace", pre = function() n:add() end }'
status 0
line '@n: 5'
# a return probe goes the other way, and sees what the livepatch returns
run kprobe-lua -v -c "$calls" -e 'local n = sum() local r = kretprobe { "kpl_t_plain", ret = function(p, v) n:add(v) end } at_exit(function() print(r.state ~= "direct") end)'
status 0
line true
line '@n: 5605'
err '^kretprobe, not direct: kpl_target:kpl_t_plain: somebody else calls the function directly'
run kprobe-lua -c "$calls" -e 'kretprobe { "kpl_t_plain", via = "direct", ret = function() end }'
status 1
err 'somebody else calls the function directly'
run kprobe-lua --unsafe -c "$calls" -e 'kprobe { "kpl_t_plain", pre = function() override(7) end }'
status 1
err 'no livepatch, no other override'
[ "$(plain)" = 5605 ] || fail 'not patched any more'
unpatched
[ "$(plain)" = 605 ] || fail 'still patched'
left_nothing
