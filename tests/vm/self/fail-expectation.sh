# SPDX-License-Identifier: MIT
run echo a
status 0
line b
