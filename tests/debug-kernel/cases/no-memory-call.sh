# SPDX-License-Identifier: MIT
# limit: 1250
# Every allocation of each call is refused once: the call fails or does without, and nothing is kept.
. "$KPL_ROOT/tests/storm/case.sh"
each_allocation_fails call
