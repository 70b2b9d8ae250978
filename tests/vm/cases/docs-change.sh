# SPDX-License-Identifier: MIT
# Every example of docs/change.md runs; those of examples/ do what they say.
awk '/^```lua$/ { n++; on = 1; next } /^```$/ { on = 0 } on { print > ("example" n ".lua") }' "$KPL_ROOT/docs/change.md"
[ -f example4.lua ] || fail 'too few examples'
right=--unsafe
for file in example?.lua; do
    [ "$file" != example4.lua ] || right=--unsafe=inject # as the page has it
    run kprobe-lua $right -c 'for i in 1 2 3 4; do cat /proc/uptime; done; dd if=/dev/zero of=x bs=1 count=1 conv=fsync; sync' "$file"
    [ "$status" = 0 ] || fail "$file: exit status $status: $(cat "$file")"
done
# the last one: sync is a system call without a result that anybody reads; the account says that it was left out
err '^unsafe: __x64_sys_sync .*: 1 hits did not go on'

run kprobe-lua --unsafe -c 'head -c 5 /etc/passwd; head -c 1 /nowhere' "$KPL_ROOT/examples/replace-result.lua" ksys_read 0 head
status 0
out '^@returned\[[1-9][0-9]*\]: [1-9]'
no_out '^root' # the command read nothing
run kprobe-lua --unsafe -c 'cat /etc/passwd /etc/passwd /etc/passwd /etc/passwd /etc/passwd /etc/passwd > /dev/null' \
    "$KPL_ROOT/examples/fail-allocations.lua" cat 5
status 0
out '^@asked: [1-9]'
out '^@failed: [1-9]'
err 'cat: .*(Cannot allocate memory|Out of memory|error while loading)'
target > /dev/null
run kprobe-lua --unsafe -c 'echo "outer 3" > /sys/module/kpl_target/parameters/run; read -r r < /sys/module/kpl_target/parameters/result; echo "$r"' \
    "$KPL_ROOT/examples/skip-call.lua" kpl_t_outer 41
status 0
line 126
line '@skipped: 3'
