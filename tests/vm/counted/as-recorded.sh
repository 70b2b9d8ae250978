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
measure() { # JOB'S FILE…: `apart` has a line for each that takes something else: job, recorded, measured
    run sh "$bench/hits.sh" kprobe-lua bench_reads - - "$@"
    cat out
    status 0
    awk 'NR == FNR { wanted[$1] = $2; next }
        $1 in wanted {
            seen++
            apart = $2 - wanted[$1]
            if (apart < 0) apart = -apart
            if (apart > 2 && apart > wanted[$1] / 50) print $1, wanted[$1], $2
        }
        END { exit seen < least }' least="$least" "$record" out > apart || fail 'not all was measured'
}
# shellcheck disable=SC2086 # paths without blanks
least=12 measure $jobs
# A map draws its seed, by which two keys may share a place: what is apart is measured once more, with another one.
again=$(sed "s|^\([^ ]*\) .*|$bench/jobs/\1.lua|" apart)
# shellcheck disable=SC2086 # paths without blanks
[ -z "$again" ] || least=1 measure $again
[ ! -s apart ] || {
    sed 's/^\(.*\) \(.*\) \(.*\)$/\1: \3 instructions, recorded are \2/' apart
    fail 'a hit costs something else than was recorded'
}
