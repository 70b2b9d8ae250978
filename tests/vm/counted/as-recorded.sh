# SPDX-License-Identifier: MIT
# limit: 600
# A hit costs what is recorded for this kernel's release and compiler, within 2 % and two instructions.
# tests/bench/record writes new figures.
bench=$KPL_ROOT/tests/bench
record=$bench/recorded/$(uname -r)
compiler=$(cat "${KPL_MODULES%/kmod}/tests/bench/compiler")
[ -e "$record" ] || skip "nothing is recorded for $(uname -r)"
[ "$(sed -n 's/^compiler //p' "$record")" = "$compiler" ] || skip "the record was made with another compiler than $compiler"
jobs=
while read -r job _; do
    # What a consumer takes depends on when it is woken.
    case $job in event-consumed) continue ;; esac
    [ ! -e "$bench/jobs/$job.lua" ] || jobs="$jobs $bench/jobs/$job.lua"
done < "$record"
# shellcheck disable=SC2086 # paths without blanks
run sh "$bench/hits.sh" kprobe-lua bench_reads - - $jobs
cat out
status 0
awk 'NR == FNR { wanted[$1] = $2; next }
    $1 in wanted {
        seen++
        apart = $2 - wanted[$1]
        if (apart < 0) apart = -apart
        if (apart > 2 && apart > wanted[$1] / 50) { print $1 ": " $2 " instructions, recorded are " wanted[$1]; bad = 1 }
    }
    END { exit bad || seen < 12 }' "$record" out > apart || { cat apart; fail 'a hit costs something else than was recorded'; }
