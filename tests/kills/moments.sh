# SPDX-License-Identifier: MIT
# kills N SEED: kprobe-lua is killed N times, at a moment that SEED chooses, with probes of each kind (kinds.lua) in turn,
# while the machine works on what they are at. After each kill nothing is left, what was probed is as it was, and the
# module goes and comes back, so that what it had forgotten somewhere would be called no more.
# A kill is aimed at a phase and hits the one it hits; `phases` has what it was: loading, attaching, armed, delivering,
# ending, gone.
kinds='ftrace kprobe kretprobe direct tracepoint uprobe watch timer override all'

random() { # N: sets $random below N
    state=$(((state * 1103515245 + 12345) & 0x7fffffff))
    random=$(((state >> 8) % $1))
}
now_ms() {
    read -r seconds _ < /proc/uptime
    echo $((${seconds%.*} * 1000 + 1${seconds#*.}0 - 1000)) # the 1: digits that begin with 0 would be octal
}
wait_ms() { sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"; }

# With pauses, or most of the time would go by before anything is armed.
works='while :; do
    cat /proc/self/status /proc/self/maps /etc/passwd; ls /sys/class/tty
    uprobed add 50; uprobed nine 5; uprobed fact 10
    usleep 200000
done'
calls='while :; do echo "plain 5" > /sys/module/kpl_target/parameters/run; usleep 100000; done'

# The code of the program that runs as $1 is that of its file: no breakpoint is left.
same_code() {
    awk '$2 == "r-xp" { split($1, at, "-"); print at[1], at[2], $3, $6; exit }' "/proc/$1/maps" > map
    read -r from to offset file < map
    pages=$(((0x$to - 0x$from) / 4096))
    dd if="/proc/$1/mem" bs=4096 skip=$((0x$from / 4096)) count=$pages of=in_memory 2> /dev/null
    dd if="$file" bs=4096 skip=$((0x$offset / 4096)) count=$pages 2> /dev/null | head -c "$(wc -c < in_memory)" > in_file
    [ -s in_memory ] && [ -s in_file ] && head -c "$(wc -c < in_file)" in_memory | cmp -s - in_file
}
semaphore_down() { [ "$(tail -n 1 follows)" = 'semaphore 0' ]; }

returns_its_own() { [ "$(target plain 5)" = 605 ]; }

as_before() { # WHAT was killed
    left_nothing
    kill -STOP "$caller"
    until_true "$1: a function to return its own value" returns_its_own
    kill -CONT "$caller"
    until_true "$1: code without breakpoints" same_code "$waiter"
    until_true "$1: the mark's semaphore to be down" semaphore_down
    rmmod kprobe_lua || fail "$1: the module can't be unloaded"
    insmod "$KPL_MODULE" || fail "$1: the module can't be loaded again"
}

begin() { # KIND quiet|events
    start kprobe-lua --unsafe --max-probes=4000 "$KPL_ROOT/tests/kills/kinds.lua" "$1" "$2"
}

# How long a kind takes to arm once the device is open, and to end: $arms and $ends, measured once in a boot.
times=/tmp/kill-times
measure() { # KIND
    begin "$1" quiet
    until_true "$1 to open the device" opened
    began=$(now_ms)
    armed
    arms=$(($(now_ms) - began))
    began=$(now_ms)
    kill -INT "$pid"
    finish
    status 0
    echo "$1 $arms $(($(now_ms) - began))" >> $times
}
opened() { [ "$(cat /sys/module/kprobe_lua/refcnt)" != 0 ]; }

has_printed() { [ "$(head -c 2000 out | wc -c)" = 2000 ]; }

phase() { # what the process is in, or was when it was killed
    if grep -qs ' gone in ' err; then echo gone
    elif [ -n "$interrupted" ]; then echo ending
    elif grep -qs '^armed in ' err; then [ "$aim" = 2 ] && echo delivering || echo armed
    elif [ $users = 1 ]; then echo attaching
    else echo loading; fi
}

kill_one() { # KIND AIM: 0 attaching, 1 armed, 2 delivering, 3 ending
    kind=$1 aim=$2 interrupted=
    grep -qs "^$kind " $times || measure "$kind"
    read -r _ arms ends << TIMES
$(grep "^$kind " $times)
TIMES
    [ "$aim" = 2 ] && begin "$kind" events || begin "$kind" quiet
    case $aim in
    0) until_true "$kind to open the device" opened; random "$arms" ;;
    1) armed; random 300 ;;
    2) armed; until_true "events of $kind" has_printed; random 300 ;;
    3) armed; random $((ends / 2 + 1)); interrupted=1; kill -INT "$pid" ;;
    esac
    wait_ms "$random"
    opened && users=1 || users=0
    kill -KILL "$pid"
    finish
    what="$kind, $(phase), $random ms"
    echo "$kind $(phase)" >> phases
    echo "$what (arms in $arms ms, ends in $ends ms)"
    case $status in 137) ;; 0) [ "$aim" = 3 ] || fail "$what: it ended by itself" ;; *) fail "$what: status $status" ;; esac
    as_before "$what"
}

kills() { # N SEED
    state=$2
    target > /dev/null
    sh -c "$works" > /dev/null 2>&1 &
    sh -c "$calls" &
    caller=$!
    uprobed wait > waits &
    waiter=$!
    usdted follow > follows &
    until_true "a program to probe" [ -s waits ]
    until_true "a program with a mark" [ -s follows ]
    number=0
    while [ $number -lt "$1" ]; do
        for kind in $kinds; do
            random 4
            kill_one "$kind" "$random"
            number=$((number + 1))
            [ $number -lt "$1" ] || break
        done
    done
    awk '{ n[$2]++ } END { for (phase in n) printf "%s %d  ", phase, n[phase]; print "of", NR, "kills" }' phases
}
