# SPDX-License-Identifier: MIT
# The module's interpreter and the kernel's JIT give the same results, also of what the verifier's fuzzer had accepted, and
# leave the same in maps and rings; and the module's verifier refuses what it should.
data=$KPL_ROOT/tests/data
run engine_rows "$data/engine_ops.txt" "$data/engine_programs.txt" \
    "$data/verifier_base.txt" "$data/verifier_memory.txt" "$data/verifier_calls.txt" "$data/verifier_edges.txt" "$data/verifier_change.txt" \
    "${KPL_MODULES%/kmod}/tests/fuzz/accepted.txt"
status 0
out '^[1-9][0-9]* interpreted runs .* [1-9][0-9]* native runs .* [1-9][0-9]* refused, .* 0 mismatches$'
cat out
