#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs in the VM: what a hit costs when there are many keys, and when many functions are probed; how long these take to
# arm and to go, and the memory of the process meanwhile.
# usage: scale.sh KPROBE_LUA READS PEERS     without those of PEERS, the directory that bench_ebpf was built in, if it is -
kprobe_lua=$1 reads=$2 peers=$3
# shellcheck source=tests/bench/job.lib
. "${0%/*}/job.lib"
# shellcheck source=tests/functions.lib
. "${0%/*}/../functions.lib"
cd /tmp || exit 1
# shellcheck disable=SC3045 # busybox and dash have it
ulimit -n 65536
sleep 5

echo "# what a count by key adds to a pread(2), with so many keys"
cat > keys.lua << 'LUA'
local c = count { max = 131072 }
syscall { "pread64", entry = function(p) c[p.args.pos]:add() end }
io.stderr:write "armed\n"
LUA
cat > keys.bt << 'BT'
tracepoint:syscalls:sys_enter_pread64 { @[args->pos] = count(); } interval:s:1 { printf("armed\n"); }
BT
calls_for() { echo "$(($1 < 10000 ? 40000 : 4 * $1)) $1"; }
# Before the others, for the kernel has work to do when they have gone.
# shellcheck disable=SC2046 # words
bases=$(for keys in 10 100 1000 10000 100000; do echo "$keys $("$reads" $(calls_for $keys))"; done)
echo "$bases" | while read -r keys base; do
    calls=$(calls_for "$keys")
    job "keys-$keys kprobe-lua" "$kprobe_lua" -v keys.lua < /dev/null
    [ "$peers" = - ] || job "keys-$keys ebpf" "$peers/bench_ebpf" "$peers/scale.bpf.o" fentry__keys - < /dev/null
    ! command -v bpftrace > /dev/null ||
        BPFTRACE_MAP_KEYS_MAX=131072 job "keys-$keys bpftrace" bpftrace -B line keys.bt < /dev/null
done

# What a read goes through stands first, or nowhere.
probeable_functions > all
{
    echo 'local names ='
    lua_names < all
    cat << 'LUA'
local hits = count { max = 65536 }
local p = kprobe { names, via = "ftrace", optional = true, pre = function(p) hits[p.func]:add() end }
at_exit(function()
  for name, n in hits:pairs() do if n >= 1000 then io.stdout:write(tostring(name):gsub("%+.*", ""), "\n") end end
end)
LUA
} > path.lua
"$kprobe_lua" -q --max-probes=65536 -c "$reads 20000" path.lua > on_path 2> err || cat err
{ echo vfs_read; awk 'NR == FNR { on[$1] = 1; next } !($1 in on) && $1 != "vfs_read"' on_path all; } > functions

# functions NAME COMMAND…
functions() {
    job "$@" > row || { echo "# no $1: $(tail -n 1 row)" && return 0; }
    cat row
    echo "    armed after $took s, gone after $gone s, $resident kB resident at most"
}

echo "# what a count at one of so many probed functions adds to a read(2); from the start of the process to all being armed"
cat > count.bt << 'BT'
{ @ = count(); } interval:s:1 { printf("armed\n"); }
BT
calls=40000
base=$("$reads" $calls)
for number in 1 100 1000 10000; do
    head -n "$number" functions > some
    {
        echo 'local names ='
        lua_names < some
        cat << 'LUA'
local calls = count()
if arg[1] == "returns" then
  kretprobe { names, optional = true, ret = function() calls:add() end }
else
  kprobe { names, optional = true, pre = function() calls:add() end }
end
LUA
    } > some.lua
    for what in entries returns; do
        functions "$what-$number kprobe-lua" "$kprobe_lua" -q -v --max-probes=65536 some.lua $what
    done
    for kind in kprobe_multi kretprobe_multi; do
        [ "$peers" = - ] || functions "$kind-$number ebpf" "$peers/bench_ebpf" "$peers/scale.bpf.o" ${kind}__functions some
    done
    # They have a kprobe each, which takes 7 ms here.
    [ "$number" -le 1000 ] || continue
    for kind in kprobe kretprobe; do
        [ "$peers" = - ] || functions "$kind-$number ebpf" "$peers/bench_ebpf" "$peers/scale.bpf.o" ${kind}__functions some
        command -v bpftrace > /dev/null || continue
        { sed "s/.*/$kind:&/" some | paste -sd, && cat count.bt; } > some.bt
        BPFTRACE_MAX_PROBES=1024 functions "$kind-$number bpftrace" bpftrace -B line some.bt
    done
done
