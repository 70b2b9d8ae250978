# SPDX-License-Identifier: MIT
# limit: 1250
# The same of the attaching, hitting and detaching of a probe of each kind, and of switching it off and on.
. "$KPL_ROOT/tests/storm/case.sh"
each_allocation_fails one
