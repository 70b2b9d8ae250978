# SPDX-License-Identifier: MIT
# Trace events of others as declarations of ours: the script that is printed hits as they do, from a script to events and back.
target > /dev/null
tracing=/sys/kernel/tracing
script plain.lua <<'LUA'
local seen = event()
kprobe("kpl_t_plain", function(p, a, b, name)
  if a > 2 then seen { first = a, second = p.arg[2], comm = comm(), name = str(name) } end
end)
kretprobe { "kpl_t_plain", maxactive = 7, ret = function(p, sum) seen { sum = sum } end }
kprobe { "kpl_t_outer", when = { comm = "nobody's" }, pre = function() seen { one = 1 } end }
LUA
calls='echo "plain 5" > /sys/module/kpl_target/parameters/run; echo "outer 4" > /sys/module/kpl_target/parameters/run'
# "p:…: NAME: fields" as tracefs and as our script print them
run kprobe-lua events plain.lua --install
status 0
echo > $tracing/trace
sh -c "$calls"
sed -n 's/^.*: \(kpl_t_[a-z_0-9]*:\) ([^)]*) /\1 /p' $tracing/trace > theirs
run kprobe-lua list --lua
status 0
quiet_err
cp out printed.lua
out '^kprobe \{ "kpl_target:kpl_t_plain", pre = function\(p\)$'
out '^kretprobe \{ "kpl_target:kpl_t_plain", maxactive = 7, ret = function\(p\)$'
no_out 'not said here'
run kprobe-lua events --remove
[ "$(wc -l < theirs)" = 8 ] || fail "by trace events: $(cat theirs)"
run kprobe-lua -q -c "$calls" printed.lua
status 0
quiet_err
sed 's/comm="[^"]*"/comm=/' out | sort > ours
# the kernel quotes what was fetched as a string; $comm too
sed 's/comm="[^"]*"/comm=/; s/comm=[^ ]*/comm=/' theirs | sort > expected
sed -i 's/comm=[^ ]*/comm=/' ours
cmp ours expected || fail "ours: $(cat ours); theirs: $(cat expected)"

# ---- of other hands: memory, symbols, a program, a filter, a switch that is off, and what can't be said
program=$(readlink -f "$(command -v uprobed)")
address=$(kprobe-lua -f json list uprobes uprobed:add | sed 's/.*"address":"\(0x[0-9a-f]*\)".*/\1/')
{
    echo 'p:mine/outer kpl_target:kpl_t_outer n=%di:u32 at=%ip:symbol flags=@jiffies_64:u64 top=$stack0:x64 list=+0(%sp):u8[2]'
    echo 'r:mine/inner kpl_target:kpl_t_inner $retval'
} > $tracing/kprobe_events
# the linker puts this program's code at the address that is its offset in the file
echo "p:mine/add $program:$address a=%di:u64 b=\$comm" > $tracing/uprobe_events || fail "no event at '$program:$address'"
echo 1 > $tracing/events/mine/add/enable
echo 'n >= 2 && n != 3' > $tracing/events/mine/outer/filter
echo 'stacktrace:1' > $tracing/events/mine/outer/trigger
echo 'traceoff:1' >> $tracing/events/mine/outer/trigger
echo 1 > $tracing/events/mine/outer/enable
run kprobe-lua list --lua
status 0
cp out printed.lua
out '^-- not said here: list=\+0\(%sp\):u8\[2\]$'
out '^-- not said here: the trigger .*stacktrace:'
out '^-- not said here: the trigger .*traceoff:'
out '^kretprobe \{ "kpl_target:kpl_t_inner", enabled = false,'
echo '!traceoff:1' > $tracing/events/mine/outer/trigger
echo '!stacktrace:1' > $tracing/events/mine/outer/trigger
out "^uprobe \{ \"$program:$address\", function\(p\)$"
for event in outer add; do echo 0 > $tracing/events/mine/$event/enable; done
echo > $tracing/kprobe_events
echo > $tracing/uprobe_events
run kprobe-lua -q -c "$calls; uprobed add 3" printed.lua
status 0
lines 3 '^add: a=[0-9]+ b=uprobed$'
lines 2 '^outer: n=[24] at=kpl_t_outer.* flags=[1-9][0-9]* top=0xffffffff[0-9a-f]+$'
no_out '^inner:'
left_nothing
