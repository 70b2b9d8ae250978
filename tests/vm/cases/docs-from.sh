# SPDX-License-Identifier: MIT
# The twenty answers of docs/from-bpftrace.md (those of docs/from-systemtap.md are the same), all in one run.
# limit: 120
awk '/^```lua$/ { on = 1; print "do"; next } /^```$/ { if (on) print "end"; on = 0 } on' "$KPL_ROOT/docs/from-bpftrace.md" > all.lua
[ "$(grep -c '^do$' all.lua)" = 20 ] || fail "not twenty answers"
# (busybox's cat, to the file that kprobe-lua writes to, would write over its lines.)
run kprobe-lua -c 'cat /etc/passwd /nonexistent >/dev/null 2>&1; dd if=/dev/zero of=f bs=8 count=20 conv=fsync 2>/dev/null; rm f; until grep -Eq "^[0-9]+$" out; do sleep 0.1; done' all.lua
status 0
no_err '^[^:]*:[0-9]+: [^0-9]|^kprobe-lua: ' # what globs left out, and skipped hits, are said
out '^@reads\[dd\]: [0-9]+$'
out '^@bytes:$'
out '^@ns:$'
out '^cat /etc/passwd$'
line '@failed[cat, 2]: 1'
out '^[0-9]+ /' # what is executed: busybox's commands are one file
out '^@sizes:$'
out '^[0-9]+$' # in each second
out '^@cats\[[0-9]+\]: [0-9]+$'
line '@files[zero]: 20' # busybox's cat does not read, but splices
out '^@written\[dd\]: [0-9]+$'
out '^[a-z-]+	[0-9]+$'
out '^@calls\[vfs_read\]: [0-9]+$'
out '^@flags\[[0-9]+\]: [0-9]+$'
out '^@until_read:$'
out '^[a-z-]+ of [a-z-]+$'
out '^\{ pid = [0-9]+, comm = [a-z-]+ \}$'
