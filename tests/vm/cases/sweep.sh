# SPDX-License-Identifier: MIT
# limit: 900
# A little of `make sweep`: probes of each kind on functions, together and one after the other, and by hand in plain C.
. "$KPL_ROOT/tests/sweep/batch.sh"
for kind in ftrace kprobe kretprobe direct; do
    batch $kind all 1 40 '^vfs_'
    line "$(grep -E '^40 chosen, (3[5-9]|40) armed, [0-5] left out, [1-9][0-9]* hit, [1-9][0-9]* hits, 0 stopped, [1-9][0-9]* events$' out)"
    batch $kind one 10 12 '^vfs_'
    line "$(grep -E '^3 chosen, 3 armed, 0 left out, [0-9]+ hit, [0-9]+ hits, 0 stopped, [0-9]+ events$' out)"
    by_hand $kind 10 '^vfs_' > by_hand
    grep -Eq '^[0-9]+ hits by hand$' by_hand || fail "by hand, $kind: $(cat by_hand)"
done
batch tracepoint all 1 20 '^(sched|signal)_' # the load comes by some of them
line "$(grep -E '^20 chosen, 20 armed, 0 left out, [1-9][0-9]* hit, [1-9][0-9]* hits, 0 stopped, [1-9][0-9]* events$' out)"
batch tracepoint one 1 4 '^sched_process_'
line "$(grep -E '^4 chosen, 4 armed, 0 left out, [1-9]' out)"
load_ends
