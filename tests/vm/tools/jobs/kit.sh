# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# What the cases on tools share.
jobs=$KPL_ROOT/tests/vm/tools/jobs
export LUA_PATH="$jobs/?.lua;;"

# The output begins with the header of the tool's table.
[ -s /tmp/headers ] || kprobe-lua tools --headers > /tmp/headers
has_header() { grep -Fxq "$1: $(head -n 1 out)" /tmp/headers || fail "$1: not its header: $(head -n 1 out)"; }

# The sum of what a histogram counts: the one below the line LABEL, or all.
counted() { awk -v label="${1-}" '/ = / { on = $0 == label } on || label == ""' out | awk -F'[:|]' '/ -> / { n += $2 } END { print n + 0 }'; }
