# SPDX-License-Identifier: MIT
# Every example of docs/language.md runs: blocks ```lua, in the handler of the page's beginning when they have no probe.
mkdir blocks
awk '/^```lua$/ { n++; on = 1; next } /^```/ { on = 0 } on { print > ("blocks/" n) }' "$KPL_ROOT/docs/language.md"
work='dd if=/etc/passwd of=/dev/null bs=64 count=2; cat /nonexistent /etc/hostname'
ran=0
for block in blocks/*; do
    if grep -Eq '^(kprobe|kretprobe|jprobe)' "$block"; then
        cp "$block" example.lua
    else
        { echo 'kprobe("vfs_read", function(p, file, buf, count, pos)'; cat "$block"; echo 'end)'; } > example.lua
    fi
    run kprobe-lua -c "{ $work; } > /dev/null 2>&1" example.lua
    [ "$status" = 0 ] || { [ "$status" = 2 ] && grep -q 'exit(2)' example.lua; } || { cat example.lua; fail "exit status $status"; }
    if grep -Ev ' hits = |values cut|^events: |^the command ended with status |user memory is bad or not resident' err; then cat example.lua; fail 'unexpected messages'; fi
    ran=$((ran + 1))
done
[ "$ran" -gt 25 ] || fail "only $ran examples"
echo "$ran examples"
