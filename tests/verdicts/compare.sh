#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: compare.sh DIRECTORY SAMPLES VERDICTS…
# Runs each build of `verdicts` on the same programs; all must say the same, and no sanitizer anything.
dir=$1 samples=$2
shift 2
first=
for verdicts; do
    out=$dir/$(basename "$verdicts").out
    if ! "$verdicts" <"$samples" >"$out" 2>"$out.err"; then
        echo "$(basename "$verdicts") failed, behind this program:"
        tail -1 "$out"
        head -20 "$out.err"
        exit 1
    fi
    if [ -n "$first" ] && ! cmp -s "$first" "$out"; then
        echo "$(basename "$first") and $(basename "$verdicts") do not agree:"
        diff "$first" "$out" | head -20
        exit 1
    fi
    first=${first:-$out}
done
echo "$# builds agree on $(wc -l <"$first") programs, $(grep -c ': cost ' "$first") accepted"
[ -s "$first" ]
