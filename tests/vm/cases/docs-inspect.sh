# SPDX-License-Identifier: MIT
# Every command of docs/inspect.md prints what stands there; every example runs.
doc=$KPL_ROOT/docs/inspect.md
awk '/^```lua$/ { n++; on = 1; next } /^```$/ { on = 0 } on { print > ("example" n ".lua") }' "$doc"
[ -f example2.lua ] || fail 'too few examples'
for file in example?.lua; do
    run kprobe-lua -c 'cat /proc/uptime' "$file"
    [ "$status" = 0 ] || fail "$file: exit status $status"
    quiet_err
done

# What `events` shows the events of.
script script.lua <<'LUA'
local large = event()
-- Reads of more than a page.
kprobe("vfs_read", function(p, file, buf, count) if count > 4096 then large { comm = comm(), size = count } end end)
LUA

# What the document shows is of a kernel where this is armed. At its entry a function may have a landing pad.
tracing=/sys/kernel/tracing
echo 'p:other vfs_fsync' > $tracing/kprobe_events
echo 1 > $tracing/events/kprobes/other/enable
echo 'p:mine/reads vfs_read n=$arg3:u64' >> $tracing/kprobe_events
echo 'n > 4096' > $tracing/events/mine/reads/filter
start kprobe-lua -e 'kprobe("vfs_read", function() end)
    for _, i in ipairs(instructions "vfs_write") do
      if i.optimize and i.offset > 4 then kprobe(("vfs_write+0x%x"):format(i.offset), function() end) break end
    end'
armed
until_true "the optimizer" grep -q OPTIMIZED /sys/kernel/debug/kprobes/list
sed -n 's/^    \$ kprobe-lua //p' "$doc" > commands
[ "$(wc -l < commands)" -ge 6 ] || fail 'too few commands'
while read -r arguments; do
    case $arguments in
        doctor) continue ;;
        *examples/*) eval "kprobe-lua $(echo "$arguments" | sed "s,examples/,$KPL_ROOT/examples/,")" > out 2> err < /dev/null ;;
        *) eval "kprobe-lua $arguments" > out 2> err < /dev/null ;;
    esac || fail "kprobe-lua $arguments: exit status $?"
    quiet_err
    sed -i 's/\(vfs_read\|vfs_fsync\)+0x4 /\1 /' out
    shown_by "$doc" "$arguments" > shown
    like out < shown
done < commands
kill -INT $pid
finish
echo 0 > $tracing/events/kprobes/other/enable
echo > $tracing/kprobe_events

# The doctor's patient: no module, no JIT.
rmmod kprobe_lua
jit=$(cat /proc/sys/net/core/bpf_jit_enable)
echo 0 > /proc/sys/net/core/bpf_jit_enable
run kprobe-lua doctor
echo "$jit" > /proc/sys/net/core/bpf_jit_enable
insmod "$KPL_MODULE"
status 1
# The module is built outside of the VM, where the headers are.
shown_by "$doc" doctor | grep -vx 'ok    kernel headers' | sed "s,build/kmod/.*,$KPL_MODULE," > shown
like out < shown
