# SPDX-License-Identifier: MIT
# limit: 600
# A return probe by the kernel's own way on what NMIs call, too, while another CPU calls it all the time. On 6.12, a call
# in an NMI is not followed, and counted: the kernel's pool of instances would be left so that the next call never ends.
[ -e /proc/sysrq-trigger ] || lacks "/proc/sysrq-trigger, which sends NMIs"
misses=1 # of each call in an NMI
[ "$(uname -r | cut -d. -f1-2)" != 6.1 ] || misses=0
hits() { sed -n "s/^$1 ([^)]*): \([0-9]*\) hits .*/\1/p" err; }
missed() { sed -n "s/^$1 ([^)]*): .* \([0-9]*\) missed$/\1/p" err; }
script nmi.lua <<'LUA'
local returns = count()
kretprobe { "symbol_string", via = "kretprobe", ret = function() returns:add() end }
LUA
cat > nmis.sh <<'SH'
# What is printed without a level has that of debugging: consoles may be late with it.
echo 1 7 1 7 > /proc/sys/kernel/printk
taskset 2 sh -c 'while :; do cat /proc/vmallocinfo; done' > /dev/null &
i=0
while [ $i -lt 1000 ]; do i=$((i+1)); echo l > /proc/sysrq-trigger; done
kill %1
SH
levels=$(cat /proc/sys/kernel/printk)
run kprobe-lua -v --cpu-share 100 -c 'taskset 1 sh nmis.sh' nmi.lua
echo "$levels" > /proc/sys/kernel/printk
status 0
err '^symbol_string \(.*\): [1-9][0-9]* hits = [1-9]'
# One for each frame that an NMI prints, and for where it was.
[ $misses = 0 ] || [ "$(missed symbol_string)" -ge 3000 ] || fail "1,000 NMIs made calls, and $(missed symbol_string) were missed"
left_nothing

# ---- each way that a call may come, as if in an NMI: ftrace's, a breakpoint, and the jump that takes its place and goes again
script ways.lua <<'LUA'
for _, f in ipairs { "kpl_target:kpl_t_plain", "__sw_hweight32" } do
  kretprobe { f, via = "kretprobe", ret = function() end }
end
LUA
cat > calls.sh <<'SH'
n=0
until [ -e enough ]; do
    echo 'nmi 50' > /sys/module/kpl_target/parameters/run
    n=$((n + 50))
done
echo $n > calls
SH
optimization=/proc/sys/debug/kprobes-optimization
jumps() { grep -q '__sw_hweight32.*\[OPTIMIZED\]' /sys/kernel/debug/kprobes/list; }
no_jump() { ! jumps; }
target > /dev/null
grep -q ' optprobe_template_entry$' /proc/kallsyms || lacks 'kprobes here become no jumps'
start kprobe-lua --cpu-share 100 ways.lua
armed
sh calls.sh &
caller=$!
for round in 1 2 3 4 5; do
    until_true 'a jump' jumps
    echo 0 > $optimization
    until_true 'a breakpoint' no_jump
    echo 1 > $optimization
done
touch enough
wait $caller
kill -INT "$pid"
finish
status 0
calls=$(cat calls)
for function in kpl_t_plain __sw_hweight32; do
    [ "$(missed $function)" = $((misses * calls)) ] || fail "$function: of $calls calls in NMIs, $(missed $function) were missed"
    [ "$(hits $function)" -ge $((2 * calls)) ] || fail "$function: $((2 * calls)) calls were $(hits $function) hits"
done
left_nothing
