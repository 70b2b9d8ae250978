# SPDX-License-Identifier: MIT
# The cases of a sweep: batches of functions with our probes, one function by hand, and instructions of functions.
control=${KPL_MODULES%/kmod}/tests/sweep/control/$(uname -r)/kpl_control.ko
work='ls -lR /sys/kernel/mm /proc/self; for i in 1 2 3; do (cat /proc/stat | wc); done; sleep 0.2'

functions=/tmp/sweep-functions # addresses and names, by address; made once in a boot
list() { # PATTERN, or @FUNCTIONS:SEED: the instructions of so many
    case $1 in
        @*)
            at=${1#@}
            [ -e "$functions$1" ] || points_agree --list "${at%:*}" "${at#*:}" > "$functions$1"
            cat "$functions$1"
            return
            ;;
    esac
    [ -e $functions ] || {
        # of the kernel's image, without what is gone since it started
        edges=$(sed -n 's/ . __init_begin$//p; s/ . __init_end$//p' /proc/kallsyms | sort | tr '\n' ' ')
        awk '$2 ~ /[tTwW]/ && NF == 3 && !seen[$1]++ { print $1, $3 }' /proc/kallsyms | sort | grep -Ev ' __[pc]fi?x?_' |
            awk -v begin="${edges% * }" -v end="${edges#* }" '("x" $1) < ("x" begin) || ("x" $1) >= ("x" end)' > $functions
    }
    awk -v pattern="$1" 'pattern == "" || $2 ~ pattern' $functions
}

armed() { # KIND: how many are, by the kernel's own lists
    case $1 in
        ftrace | direct) grep -c '^[^[:space:]]' /sys/kernel/tracing/enabled_functions ;;
        *) grep -c . /sys/kernel/debug/kprobes/list ;;
    esac || true
}

batch() { # KIND all|one FROM TO PATTERN
    list "$5" | sed -n "$3,$4p" > chosen
    echo "$3 to $4: $(sed -n '1s/.* //p' chosen) to $(sed -n '$s/.* //p' chosen)"
    if [ "$2" = all ]; then
        before=$(armed "$1")
        run kprobe-lua --max-probes=65536 -q -c "($work) > /dev/null 2>&1; . $KPL_ROOT/tests/sweep/batch.sh; armed $1 > armed" \
            "$KPL_ROOT/tests/sweep/functions.lua" "$1" all chosen
        status 0
        sed -i "s/^[0-9]* hits,/$(wc -l < chosen) tried, $(($(cat armed) - before)) armed, &/" out
    else
        one_by_one "$1"
    fi
    grep '^[0-9]' out
    left_nothing
}

one_by_one() { # KIND
    echo 0 > /sys/kernel/rcu_normal # most of the time is spent waiting for grace periods, on PREEMPT_RT above all
    echo 1 > /sys/kernel/rcu_expedited
    (while :; do eval "$work"; done) > /dev/null 2>&1 &
    worker=$!
    run kprobe-lua -q "$KPL_ROOT/tests/sweep/functions.lua" "$1" one chosen
    kill $worker
    status 0
}

by_hand() { # KIND FUNCTION'S NUMBER PATTERN
    insmod "$control" || fail "can't load the control"
    at=$(list "$3" | sed -n "$2s/ .*//p")
    echo "$1 $at" > /sys/module/kpl_control/parameters/on || { echo "refused" && return; }
    eval "$work" > /dev/null 2>&1
    echo "$(cat /sys/module/kpl_control/parameters/hits) hits by hand"
    echo off > /sys/module/kpl_control/parameters/on
    rmmod kpl_control
}

offsets() { # FUNCTIONS SEED
    (while :; do eval "$work"; done) > /dev/null 2>&1 &
    worker=$!
    run points_agree "$1" "$2"
    kill "$worker"
    cat out
    status 0
    out '^([0-9]+) of \1 instructions: 100.00 %$'
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
    run kprobe-lua --max-probes=65536 -q -c ". $KPL_ROOT/tests/sweep/batch.sh; before=$(armed "$kind"); echo \$((\$(armed $kind) - before)) > armed
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
