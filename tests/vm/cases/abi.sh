# SPDX-License-Identifier: MIT
# limit: 900
# The module's ABI by raw ioctls: rights, limits, exact counts, tear-down (tests/vm/abi).
target > /dev/null # a module to unload
export KPL_TARGET KPL_CONTROL
run abi_test
status 0
out '^[0-9]+ tests, 0 failed$'
