# SPDX-License-Identifier: MIT
# limit: 1250
# The same of ten probes in one call.
. "$KPL_ROOT/tests/storm/case.sh"
each_allocation_fails many
