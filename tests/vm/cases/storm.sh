# SPDX-License-Identifier: MIT
# limit: 900
# A little of `make storm`: processes call the module as nobody should, all at once.
. "$KPL_ROOT/tests/storm/case.sh"
storms 10 1
