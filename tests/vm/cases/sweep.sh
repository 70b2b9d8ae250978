# SPDX-License-Identifier: MIT
# limit: 900
# A little of `make sweep`: probes of each kind on functions, together and one after the other, and by hand in plain C.
. "$KPL_ROOT/tests/sweep/batch.sh"
for kind in ftrace kprobe kretprobe direct; do
    batch $kind all 1 30 '^vfs_'
    line "$(grep -E '^30 tried, 30 armed, [1-9][0-9]* hits, 0 stopped, [1-9][0-9]* events$' out)"
    batch $kind one 10 12 '^vfs_'
    line "$(grep -E '^3 tried, 3 armed, [0-9]+ hits, 0 stopped, [0-9]+ events$' out)"
    by_hand $kind 10 '^vfs_' > by_hand
    grep -Eq '^[0-9]+ hits by hand$' by_hand || fail "by hand, $kind: $(cat by_hand)"
done
