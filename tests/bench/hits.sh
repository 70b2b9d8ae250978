#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs in the VM: what each job adds to one read(2) of one byte, measured against its own boot's base.
# usage: hits.sh KPROBE_LUA READS MODULE PEERS JOB…     without the jobs of MODULE by hand, if it is -, and without those
#                                                       of PEERS, the directory that bench_ebpf was built in, likewise
kprobe_lua=$1 reads=$2 module=$3 peers=$4
shift 4
calls=40000
. "${0%/*}/job.lib"

# A machine that has just booted is not idle yet.
sleep 5
base=$("$reads" $calls)
echo "release $(uname -r)"
echo "base $base"
place=$("$kprobe_lua" -f json -l 'usdt:bench_reads:*:read' |
    awk 'match($0, /"address":"?[0-9a-fx]+/) { text = substr($0, RSTART, RLENGTH); sub(/.*[":]/, "", text); print text }')
[ "$module" = - ] || for by_hand in ftrace empty count offset post return latency uprobe; do
    insmod "$module" job=$by_hand "file=$(command -v bench_reads)" "place=$place"
    sleep 1
    row "by-hand-$by_hand" "$("$reads" $calls)"
    rmmod "$(basename "$module" .ko)"
done
[ "$peers" = - ] || for program in $("$peers/bench_ebpf" "$peers/jobs.bpf.o"); do
    # kprobe__eight_probes: ebpf-kprobe-eight-probes
    job "ebpf-$(echo "$program" | sed 's/__*/-/g')" "$peers/bench_ebpf" "$peers/jobs.bpf.o" "$program" "$(command -v bench_reads)" "$place" ||
        echo "# the kernel has no $program"
done
[ "$peers" = - ] || ! command -v bpftrace > /dev/null || sed "/^#/d; s|READS|$reads|" "${0%/*}/peers/bpftrace.txt" | while read -r name program; do
    # It has no word for "armed": its interval comes once the others are.
    job "bpftrace-$name" bpftrace -B line -e "$program interval:s:1 { printf(\"armed\\n\"); }" < /dev/null ||
        echo "# bpftrace can't do $name"
done
for script in "$@"; do
    other=
    case $script in */two-sessions.lua) # the other one
        "$kprobe_lua" -v "$script" > /tmp/other 2>&1 &
        other=$!
        until grep -q armed /tmp/other; do sleep 0.1; done ;;
    esac
    job "$(basename "$script" .lua)" "$kprobe_lua" -v "$script" || exit 1
    [ -z "$other" ] || { kill -INT $other && wait $other; }
    # A figure that was had by losing events is none.
    if grep -E '^events:.* [1-9][0-9]* lost|[1-9][0-9]* (stopped|missed)' /tmp/err; then exit 1; fi
done
