# SPDX-License-Identifier: MIT
# The session of docs/repl.md, with what must appear; what it saves runs as a script.
echo "session $KPL_ROOT/docs/repl.md" > steps
echo leave >> steps
echo 'end 0' >> steps
run terminal --size 40x100 --record session.cast --transcript session.txt steps kprobe-lua -i
cat out
status 0
grep -q '^\[[0-9.]*,"o","' session.cast || fail "no recording"
grep -q '^1> ?do_sys_openat2$' session.txt || fail "no transcript"
run kprobe-lua -c "cat /etc/no-such-file" misses.lua
status 0
line "cat waited"
no_out 'no-such-file'
left_nothing
