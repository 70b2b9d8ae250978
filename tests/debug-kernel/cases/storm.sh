# SPDX-License-Identifier: MIT
# limit: 1250
# `make storm`, with one of a hundred allocations refused.
. "$KPL_ROOT/tests/storm/case.sh"
storms 200 1
