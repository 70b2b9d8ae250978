# SPDX-License-Identifier: MIT
# limit: 600
# A session is killed while it attaches to what running programs map: their code is as it was, in each of them.
# The kernel writes no breakpoint, and takes none back, in a task that is being killed.
. "$KPL_ROOT/tests/kills/moments.sh"
script many.lua <<'LUA'
local n = count()
uprobe("/lib/x86_64-linux-gnu/libm.so.6:*", function() n:add() end)
LUA
for number in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    luajit -e 'ffi = require "ffi" ffi.cdef "int pause(void);" print "waits" io.flush() ffi.C.pause()' > waits$number &
    waiters="$waiters $!"
    until_true "a program that maps the library" [ -s waits$number ]
done

# The library's code in process $1.
code() {
    awk '/ r-xp .*libm.so.6$/ { split($1, at, "-"); print at[1], at[2]; exit }' "/proc/$1/maps" > map
    read -r from to < map
    dd if="/proc/$1/mem" bs=4096 skip=$((0x$from / 4096)) count=$(((0x$to - 0x$from) / 4096)) 2> /dev/null
}
# shellcheck disable=SC2086 # words without blanks
sums() { for waiter in $waiters; do code "$waiter" | md5sum; done; }
as_it_was() { [ "$(sums)" = "$before" ]; }

for waiter in $waiters; do
    [ "$(code "$waiter" | wc -c)" -gt 4096 ] || fail "no code of the library in process $waiter"
done
before=$(sums)
patience=50
began=$(now_ms)
start kprobe-lua -v --max-probes=1000 many.lua
armed
took=$(($(now_ms) - began)) part=0 attaching=0
kill -INT "$pid"
finish
status 0
while [ $part -lt 12 ]; do
    part=$((part + 1))
    start kprobe-lua -v --max-probes=1000 many.lua
    wait_ms $((took * part / 12))
    opened && users=1 || users=0
    kill -KILL "$pid"
    finish
    status 137
    grep -q '^armed in' err || attaching=$((attaching + users))
    left_nothing
    until_true "code without breakpoints, killed after $part/12 of $took ms" as_it_was
done
echo "$attaching of $part while attaching" >&2
[ $attaching -gt 0 ] || fail "no kill while attaching"
# shellcheck disable=SC2086 # words without blanks
kill $waiters
