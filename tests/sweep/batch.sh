# SPDX-License-Identifier: MIT
# The cases of a sweep: batches of functions with our probes, one function by hand, and instructions of functions; under load.
control=${KPL_MODULES%/kmod}/tests/sweep/control/$(uname -r)/kpl_control.ko
sweep=$KPL_ROOT/tests/sweep

chosen=/tmp/sweep-chosen # with a kind's name; each is made once in a boot
chosen() { # [PATTERN], or t:PATTERN, tracepoints, or @FUNCTIONS:SEED, the instructions of so many: as left.lua prints them
    case $1 in
        @*) made=$1 named= ;;
        t:*) made=t named=${1#t:} ;;
        *) made=all named=$1 ;;
    esac
    [ -e "$chosen-$made" ] || case $made in
        @*) at=${1#@} && points_agree --list "${at%:*}" "${at#*:}" ;;
        t) sed -n 's/ [bBdD] __tracepoint_\([^[:space:]]*\)$/ \1 -/p' /proc/kallsyms ;;
        all) kprobe-lua -q "$sweep/left.lua" "$KPL_ROOT/kmod/uapi/places.def" "$KPL_ROOT/runtime/session/direct.cpp" ;;
    esac > "$chosen-$made" || fail "can't say which functions there are"
    awk -v pattern="$named" '$2 ~ pattern' "$chosen-$made"
}

list() { # addresses and names of the kernel's functions, without what is gone since it started
    chosen "" | awk '$3 != "freed" { print $1, $2 }'
}

load=
load_begins() { # once in a case; load_ends is its last line
    [ -z "$load" ] || return 0
    echo 0 > /sys/kernel/rcu_normal # most of the time is spent waiting for grace periods, on PREEMPT_RT above all
    echo 1 > /sys/kernel/rcu_expedited
    sweep_load --reached > reached
    echo 0 0 > rounds
    sweep_load rounds 2> load.err &
    load=$!
    until_true "the load's first round" has_been 1
}

load_ends() {
    kill "$load"
    wait "$load" || fail "the load ended: $(cat load.err)"
}

has_been() { # ROUNDS
    read -r first second < rounds || fail "the load ended: $(cat load.err)"
    [ "$first" -ge "$1" ] && [ "$second" -ge "$1" ]
}

whole_round() { # of the one who has made more, and what was under way does not count
    read -r first second < rounds
    until_true "a whole round of the load" has_been $((first > second ? first + 2 : second + 2))
}

load_control() { [ -d /sys/module/kpl_control ] || insmod "$control" || fail "can't load the control"; }

refused_by_hand() { # KIND ADDRESS: what has no reason of ours, by the kernel's own interface
    [ "$1" != tracepoint ] || return 1
    if echo "$1 $2" > /sys/module/kpl_control/parameters/on; then
        echo off > /sys/module/kpl_control/parameters/on
        return 1
    fi 2> /dev/null
}

# Its first instruction, or the one behind a landing pad, has an entry in the table of exceptions; or, for a kretprobe, which the
# kernel may make a jump whether it has a post handler or not, its function sets the direction flag.
refused_by_text() { # KIND ADDRESS
    case $1 in
        kprobe) reason='no .* has an exception-table entry$' ;;
        kretprobe) reason='(no .* has an exception-table entry$|.* not optimized: its function sets the direction flag)' ;;
        *) return 1 ;;
    esac
    kprobe-lua disasm "0x$2" | grep -Eq "^ +\\+0x[04]  $reason"
}

batch() { # KIND all|one FROM TO PATTERN
    pattern=$5
    [ "$1" != tracepoint ] || pattern=t:$5
    chosen "$pattern" | sed -n "$3,$4p" > places
    echo "$3 to $4: $(awk 'NR == 1 { first = $2 } END { print first, "to", $2 }' places)"
    load_begins
    run kprobe-lua --max-probes=65536 -q "$sweep/functions.lua" "$1" "$2" places rounds reached
    status 0
    no_out '^wrong'
    load_control
    sed -n 's/^no reason\t//p' out > unreasoned
    while read -r at name; do
        refused_by_hand "$1" "$at" || refused_by_text "$1" "$at" ||
            fail "$name is left out, and the kernel takes it: $(grep -E "probe (the return of )?$name: " err)"
    done < unreasoned
    grep -E '^([0-9]+ chosen|left out: )' out
    left_nothing
}

by_hand() { # KIND FUNCTION'S NUMBER PATTERN; tracepoints by the kernel's own events
    load_begins
    if [ "$1" = tracepoint ]; then
        at=$(chosen "t:$3" | awk -v nr="$2" 'NR == nr { print $2 }')
        for event in /sys/kernel/tracing/events/*/"$at"/enable; do echo 1 > "$event" && whole_round && echo 0 > "$event"; done
        return
    fi
    load_control
    at=$(chosen "$3" | awk -v nr="$2" 'NR == nr { print $1 }')
    echo "$1 $at" > /sys/module/kpl_control/parameters/on || { echo "refused" && return; }
    whole_round
    echo "$(cat /sys/module/kpl_control/parameters/hits) hits by hand"
    echo off > /sys/module/kpl_control/parameters/on
}

offsets() { # FUNCTIONS SEED
    load_begins
    run points_agree "$1" "$2"
    cat out
    status 0
    out '^([0-9]+) of \1 instructions: 100.00 %$'
}

nr_armed() { # KIND: how many are, by the kernel's own lists
    case $1 in
        ftrace | direct) grep -c '^[^[:space:]]' /sys/kernel/tracing/enabled_functions ;;
        *) grep -c . /sys/kernel/debug/kprobes/list ;;
    esac || true
}

# Each in a process of its own, which ends at what fails.
use_modules() {
    mkdir use && cd use && mkdir mounted upper work merged
    for kind in xfs btrfs; do
        if ! command -v mkfs.$kind || [ ! -d /sys/module/$kind ] || [ ! -d /sys/module/loop ]; then continue; fi
        truncate -s 350M image && mkfs.$kind -q image && device=$(losetup -f) && losetup "$device" image &&
            mount -t $kind "$device" mounted && cp -r "$KPL_ROOT/tests/sweep" mounted && ls -lR mounted && sync &&
            dd if=/dev/zero of=mounted/big bs=64k count=100 && truncate -s 1000 mounted/big && umount mounted &&
            losetup -d "$device" && rm image && echo "$kind was used"
    done
    ! [ -d /sys/module/overlay ] || { mount -t overlay -o "lowerdir=$KPL_ROOT/tests/sweep,upperdir=upper,workdir=work" overlay merged &&
        cat merged/run merged/batch.sh && echo more >> merged/run && rm merged/batch.sh && umount merged && echo "overlay was used"; }
}

modules() { # KIND FOLDER MODULE…: all of their functions, while they are used and while they go
    kind=$1 folder=$2
    shift 2
    back=
    for module; do
        insmod "$folder/$module.ko" || fail "can't load $module"
        back="$module $back"
    done
    awk '$2 ~ /[tTwW]/ && NF == 4 && !seen[$1]++ { print $1, $3, $4 }' /proc/kallsyms | grep -Ev ' __[pc]fi?x?_|\[(kprobe_lua|__)' > chosen
    run kprobe-lua --max-probes=65536 -q -c ". $KPL_ROOT/tests/sweep/batch.sh; before=$(nr_armed "$kind"); echo \$((\$(nr_armed $kind) - before)) > armed
        (use_modules) > used 2>&1; for module in $back; do rmmod \$module; done" "$KPL_ROOT/tests/sweep/together.lua" "$kind" chosen
    status 0
    grep ' was used$' used || true
    for module; do
        [ ! -d "/sys/module/$module" ] || fail "$module stays"
        case $module in
            overlay) ;;
            xfs | btrfs) [ -e "$folder/loop.ko" ] && command -v "mkfs.$module" > /dev/null || { echo "$module was loaded alone: no mkfs.$module, or no loop" && continue; } ;;
            *) echo "$module was loaded alone" && continue ;;
        esac
        grep -q "^$module was used\$" used || { cat used && fail "$module was not used"; }
    done
    grep '^[0-9]* hits' out
    echo "$(wc -l < chosen) functions, $(cat armed) armed"
    out '^[1-9][0-9]* hits'
    [ $(($(cat armed) * 2)) -ge "$(wc -l < chosen)" ] || fail 'less than half is armed'
    left_nothing
}
