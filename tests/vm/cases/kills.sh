# SPDX-License-Identifier: MIT
# limit: 900
# A few of `make kills`: kprobe-lua is killed at random moments, with each kind of probe.
. "$KPL_ROOT/tests/kills/moments.sh"
kills 10 1
[ "$(cut -d ' ' -f 1 phases | sort -u | wc -l)" = 10 ] || fail "not each kind: $(cat phases)"
