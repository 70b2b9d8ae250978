# SPDX-License-Identifier: MIT
# Handlers that go wrong are told by file, line and count; the others go on; --strict makes it an error.
cp "$KPL_ROOT/tests/data/scripts/faults.lua" .
work='dd if=/dev/zero of=/dev/null bs=8 count=200 2>/dev/null'
run kprobe-lua -c "$work" faults.lua
status 0
err '^faults.lua:4: bad address 0x[0-9a-f]+ reading t.pid \([0-9]+ hits\)$'
err '^faults.lua:5: division by zero \([0-9]+ hits\)$'
err '^faults.lua:6: cost bound reached: 30000; make the handler shorter, or give its probe `budget = N`, up to 1,000,000 \([0-9]+ hits\)$'
out '^fine	0	reads	[0-9]+$'
reads=$(sed -n 's/^fine	0	reads	//p' out)
[ "$reads" -ge 200 ] || fail "$reads reads counted"
err "^vfs_read \([^ ]+:[0-9]+\): $reads hits = 0 handled \+ $reads stopped \($reads faults, 0 errors, 0 overruns\) \+ 0 skipped \+ 0 missed$"
run kprobe-lua --strict -c "$work" faults.lua
status 1
