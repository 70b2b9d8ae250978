# SPDX-License-Identifier: MIT
# The table of `kprobe-lua bench`: each row has a figure or a reason; the first ones, whose hits cost much more than the calls, have figures.
# Without optimization, for others, interrupted, killed.
listed() { # so many lines of the kernel's list; no pause between looks: a row may be measured within one
    until [ "$(grep -c "$1" /sys/kernel/debug/kprobes/list)" -ge "$2" ]; do
        kill -0 $pid || fail "ended before there was '$1'"
    done
}
run kprobe-lua -f json bench
status 0
quiet_err
lines 1 '^\{"type":"bench_machine","data":\{"kernel":"Linux '
lines 5 '^\{"type":"bench_recorded","data":\{"machine":".*","source":"Documentation/.*","ns":\{"k":[0-9]+'
lines 23 '^\{"type":"bench",'
lines 23 '^\{"type":"bench",.*("ns":\{"median":[0-9.]*[1-9][0-9.]*,"low":.*"hits":[1-9].*"why":null|"ns":null,.*"why":"[^"])'
for probe in k r kr; do
    out "\"probe\":\"$probe\",.*\"ns\":\{\"median\":"
done
# what this kernel does not do is not measured
for probe in b rb; do out "\"probe\":\"$probe\",.*\"ns\":null,.*\"why\":\"this kernel boosts nothing: it is preemptible"; done
out '"probe":"hardware",.*"why":"this machine has no such counter'
out '^\{"type":"bench_machine",.*"instructions_not_counted":"this machine has no such counter'
out '^\{"type":"bench_doubt","data":\{"what":"a virtual machine'
left_nothing

# ---- interrupted at a row; others probe, and nothing is optimized
echo 0 > /proc/sys/debug/kprobes-optimization
echo 'p:mine/traced kprobe_lua:kpl_bench_traced' > /sys/kernel/tracing/kprobe_events
echo 1 > /sys/kernel/tracing/events/mine/traced/enable
kprobe-lua bench > out 2> err < /dev/null &
pid=$!
listed kpl_bench_traced 2 # by a kretprobe: half of the rows are done
kill -INT $pid
finish
echo 0 > /sys/kernel/tracing/events/mine/traced/enable
echo > /sys/kernel/tracing/kprobe_events
echo 1 > /proc/sys/debug/kprobes-optimization
status 0
quiet_err
out '^PROBE +NS +MIDDLE HALF +INSTRUCTIONS +WHAT$'
out '^k +[0-9.]+ +[0-9.]+ to [0-9.]+ +- +kprobe, its instruction single-stepped$'
out '^o +- +- +- +kprobe, optimized: a jump: jump optimization is off: kprobe-lua knobs optimization 1 switches it on$'
out '^profile +- +- +- .*: not measured: interrupted$'
out '^this one +[0-9.]+ '
out '^  jump optimization is off: .*kprobe-lua knobs optimization 1 ends that$'
out '^  kpl_bench_traced.*: probed by others, too$'
left_nothing

# ---- killed
kprobe-lua bench > out 2> err < /dev/null &
pid=$!
listed kpl_bench_ 1
kill -KILL $pid
wait $pid
left_nothing

# ---- not for everybody
mkdir -m 755 /tmp/bench
run su -s /bin/sh nobody -c 'cd /tmp/bench && kprobe-lua bench'
rmdir /tmp/bench
status 1
one_error
err root
run kprobe-lua bench more
status 2
