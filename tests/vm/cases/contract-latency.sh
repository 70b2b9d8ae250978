# SPDX-License-Identifier: MIT
# The histograms' counts add up to the calls that were made.
run kprobe-lua -v -c 'dd if=/dev/zero of=/dev/null bs=1 count=200 status=none' "$KPL_ROOT/tests/data/scripts/latency.lua"
status 0
out '^@lat\[vfs_read, dd\]:$'
out '^@lat\[vfs_write, dd\]:$'
sum() { awk -v head="$1" '$0 == head { on = 1; next } /^$/ { on = 0 } on { sub(/\|.*/, ""); n += $NF } END { print n + 0 }' out; }
[ "$(sum '@lat[vfs_write, dd]:')" = 200 ] || fail "$(sum '@lat[vfs_write, dd]:') writes, not 200"
[ "$(sum '@lat[vfs_read, dd]:')" -ge 200 ] || fail "$(sum '@lat[vfs_read, dd]:') reads, not 200"
err 'returns: [0-9]+ hits = [0-9]+ handled \+ 0 stopped'
