#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs in the VM: what each job adds to one read(2) of one byte, measured against its own boot's base.
# usage: hits.sh KPROBE_LUA READS MODULE JOB…     without the jobs of MODULE by hand, if it is -
kprobe_lua=$1 reads=$2 module=$3
shift 3
calls=40000

row() { awk -v name="$1" -v with="$2" -v base="$base" 'BEGIN { printf "%-26s %6.0f\n", name, with - base }'; }

# A machine that has just booted is not idle yet.
sleep 5
: > /tmp/err
base=$("$reads" $calls)
echo "release $(uname -r)"
echo "base $base"
[ "$module" = - ] || for job in ftrace empty count offset post return latency; do
    insmod "$module" job=$job
    sleep 1
    row "by-hand-$job" "$("$reads" $calls)"
    rmmod "$(basename "$module" .ko)"
done
for job in "$@"; do
    "$kprobe_lua" -v --buffer 32M "$job" > /tmp/out 2> /tmp/err &
    pid=$!
    tries=0
    until grep -q armed /tmp/err; do
        tries=$((tries + 1))
        if [ $tries = 200 ] || ! kill -0 $pid 2> /dev/null; then cat /tmp/err; exit 1; fi
        sleep 0.1
    done
    sleep 1
    # A consumer that sleeps costs nothing: what the producing side costs by itself.
    case $job in *-produced.lua) kill -STOP $pid ;; esac
    with=$("$reads" $calls)
    kill -CONT $pid
    kill -INT $pid
    wait $pid
    row "$(basename "$job" .lua)" "$with"
    # A figure that was had by losing events is none.
    if grep -E '^events:.* [1-9][0-9]* lost|[1-9][0-9]* (stopped|missed)' /tmp/err; then exit 1; fi
done
