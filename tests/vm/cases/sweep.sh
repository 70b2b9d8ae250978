# SPDX-License-Identifier: MIT
# limit: 900
# A little of `make sweep`: probes of each kind on functions, together and one after the other, and by hand in plain C.
. "$KPL_ROOT/tests/sweep/batch.sh"
for kind in ftrace kprobe kretprobe direct; do
    batch $kind all 1 60 '^vfs_'
    line "$(grep -E '^60 chosen, [56][0-9] armed, [0-9] left out, [1-9][0-9]* hit, [1-9][0-9]* hits, 0 stopped, [1-9][0-9]* events$' out)"
    batch $kind one 10 12 '^vfs_'
    line "$(grep -E '^3 chosen, 3 armed, 0 left out, [0-9]+ hit, [0-9]+ hits, 0 stopped, [0-9]+ events$' out)"
    by_hand $kind 10 '^vfs_' > by_hand
    grep -Eq '^[0-9]+ hits by hand$' by_hand || fail "by hand, $kind: $(cat by_hand)"
done
batch tracepoint all 1 60
line "$(grep -E '^60 chosen, 60 armed, 0 left out, [1-9][0-9]* hit, [1-9][0-9]* hits, 0 stopped, [1-9][0-9]* events$' out)"
batch tracepoint one 1 10
line "$(grep -E '^10 chosen, 10 armed, 0 left out, ' out)"
load_ends
