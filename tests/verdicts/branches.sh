#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: branches.sh DIRECTORY VERDICTS SAMPLES… < tests/verdicts/unreached.txt
# Judges the programs of SAMPLES with a build that counts branches (its notes and counts are in DIRECTORY). Each branch of the
# verifier and the rewriter is taken, but for those that stdin lists with the reason; each reason to refuse is given.
set -e
dir=$1 verdicts=$2
shift 2
cd "$dir"
rm -f ./*.gcda ./*.gcov
cat "$@" | "$verdicts" > judged
sed -n 's/.*: -[0-9]*, \(.*\), at [0-9]*.*$/\1/p' judged | sort -u > reasons
"$verdicts" --reasons | sort > all_reasons
gcov -b -c -- *.gcda > /dev/null 2>&1
{
    # FILE: LINE OF CODE: how many of its branches nobody took, or 1 for a line that nobody ran.
    for file in verify verify_call verify_jump verify_mem verify_state rewrite; do
        awk -v file=$file '
            function tell() { if (n) print file ": " code ": " n; n = 0 }
            /^ *[0-9#=*-]+: *[0-9]+:/ { tell(); code = $0; sub(/^[^:]*: *[0-9]+:[ \t]*/, "", code); if ($1 ~ /^#####/) n = 1 }
            /^branch .*(never executed|taken 0( |$))/ { n++ }
            END { tell() }' $file.c.gcov
    done
    comm -13 reasons all_reasons | sed 's/^/reason: /'
} > unreached
sed '/^#/d; /^$/d' > expected
failed=0
diff expected unreached || failed=1
[ $failed = 0 ] || echo "what nothing reaches (>) is not what is listed (<)"
[ $failed = 1 ] || echo "$(wc -l < judged) programs, $(grep -c ': cost ' judged) accepted; $(wc -l < reasons) reasons; nothing reaches $(wc -l < unreached) lines and reasons, all of them listed"
exit $failed
