# SPDX-License-Identifier: MIT
# A BPF trampoline and a direct call of ours at the same function: who comes second is refused, and the first goes on unharmed.
[ -d /sys/module/kprobe_lua_stubs ] || lacks 'a kernel without direct calls'
target > /dev/null
plain() { target "plain $1" > /dev/null; }
answered() { [ -s attached ] || [ -s answer ]; }
attach() { # 0: it is there
    : > attached
    : > answer
    fentried kpl_target kpl_t_plain > attached 2> answer &
    bpf=$!
    until_true 'an answer to BPF' answered
    [ -s attached ] && return
    wait $bpf
    [ $? != 2 ] || lacks "$(cat answer)"
    return 1
}
attach || fail "alone: $(cat answer)"
off() { # HITS: how many BPF saw
    kill -TERM $bpf
    wait $bpf || fail "BPF: $(cat answer)"
    [ "$(sed -n '$p' attached)" = "$1" ] || fail "BPF saw $(sed -n '$p' attached) calls, not $1"
}

# ---- BPF first
plain 3
calls='echo "plain 5" > /sys/module/kpl_target/parameters/run'
run kprobe-lua -c "$calls" -e 'kretprobe { "kpl_t_plain", via = "direct", ret = function() end }'
status 1
one_error
err 'somebody else calls the function directly'
run kprobe-lua -v -c "$calls" -e 'local n = count() kretprobe { "kpl_t_plain", ret = function() n:add() end }'
status 0
line '@n: 5'
err '^kretprobe, not direct: kpl_target:kpl_t_plain: somebody else calls the function directly'
plain 2
off 10

# ---- ours first
start kprobe-lua -e 'local n = count() kretprobe { "kpl_t_plain", via = "direct", ret = function() n:add() end }'
armed
plain 3
before=$(refused_to_others)
! attach || fail 'BPF beside a direct call'
grep -q 'attach: Device or resource busy' answer || fail "BPF was refused by: $(cat answer)"
[ "$(refused_to_others)" = $((before + 1)) ] || fail "not counted: $(refused_to_others), $before before"
plain 4
kill -INT "$pid"
finish
status 0
line '@n: 7'
# and when ours has gone
attach || fail "afterwards: $(cat answer)"
plain 6
off 6
left_nothing
