# SPDX-License-Identifier: MIT
# Two sessions probe one function and know nothing of each other.
script count.lua <<'LUA'
local reads = count()
kprobe("read_zero", function() reads:add() end)
LUA
mkdir other
cp count.lua other
(cd other && exec kprobe-lua -v count.lua > out 2> err) &
other=$!
start kprobe-lua count.lua
armed
armed other/err
dd if=/dev/zero of=/dev/null bs=1 count=50 2> /dev/null
kill -INT "$other"
wait "$other" || fail "the other one's exit status is $?"
dd if=/dev/zero of=/dev/null bs=1 count=50 2> /dev/null
kill -INT "$pid"
finish
status 0
line '@reads: 100'
grep -Fxq '@reads: 50' other/out || fail "the other one: $(cat other/out other/err)"
left_nothing
