# SPDX-License-Identifier: MIT
# limit: 240
# The C API in a program of its own (tests/library): steps that fail leave all as it was, records, maps, ends.
run library_test all
status 0
out '^[0-9]+ tests, 0 checks failed$'
left_nothing
