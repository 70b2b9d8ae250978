#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: kernel-flags.sh BUILD/kmod FLAG…
# Each flag is one that kbuild compiles the verifier with, on every kernel that the module is built for.
build=$1
shift
commands=$(find "$build" -name '.verify_call.o.cmd')
[ -n "$commands" ] || { echo "skipped: no kernel headers, the module is not built"; exit 77; }
for command in $commands; do
    for flag; do
        grep -q -e " $flag " "$command" || { echo "$command: no $flag"; exit 1; }
    done
done
echo "$# flags in $(echo "$commands" | wc -l) builds"
