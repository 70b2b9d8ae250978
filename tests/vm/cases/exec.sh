# SPDX-License-Identifier: MIT
# Random programs of the profile, and those of a list: the module's interpreter and the kernel's JIT do what the RFC's
# letter says, to the result and to the memory.
rows=$KPL_ROOT/tests/data/exec_programs.txt
kprobe-lua-exec --random 400 --seed 100000 > programs
kprobe-lua-exec --batch --show-memory --reference < programs > expected
sed -n '/^[^#]/s/ = .*//p' "$rows" >> programs
sed -n '/^[^#]/s/.* = //p' "$rows" >> expected
for engine in jit interp; do
    kprobe-lua-exec --inside --kernel=$engine --batch --show-memory < programs > out 2> err || fail "exit status $?"
    cmp out expected || fail "$engine differs"
done
no_out '^error'
[ "$(wc -l < out)" = "$(wc -l < programs)" ] || fail "not all ran"

# What one run takes, and that a signal ends many.
echo "b70000002a000000 9500000000000000" > one
kprobe-lua-exec --inside --kernel --repeat=1000 2a00 < one > out || fail "exit status $?"
out '^2a [0-9]+\.[0-9] ns$'
kprobe-lua-exec --inside --kernel 0x2a00 < one > out 2> err || fail "exit status $?"
[ "$(cat out)" = 2a ] || fail "$(cat out), not r0 alone"
err '^[0-9]+\.[0-9] ns$'
echo "7910080000000000 7122010000000000 0f20000000000000 0f30000000000000 9500000000000000" > context
kprobe-lua-exec --inside --kernel --context 00000000000000000100000000000000 aa20 < context > out 2> err || fail "exit status $?"
[ "$(cat out)" = 23 ] || fail "with a context: $(cat out)"
