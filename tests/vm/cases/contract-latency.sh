# SPDX-License-Identifier: MIT
# The histograms' counts add up to the calls that returned.
run kprobe-lua -v -c 'dd if=/dev/zero of=/dev/null bs=1 count=200 2>/dev/null' "$KPL_ROOT/tests/data/scripts/latency.lua"
status 0
out '^@lat\[vfs_read, dd\]:$'
out '^@lat\[vfs_write, dd\]:$'
sum=$(awk '/^\[/ { sub(/\|.*/, ""); n += $NF } END { print n + 0 }' out)
[ "$sum" -ge 400 ] || fail "$sum calls in the histograms"
err "returns: $sum hits = $sum handled \+ 0 stopped .*, 0 outstanding$"
