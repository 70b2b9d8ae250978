# SPDX-License-Identifier: MIT
# Predictions of `disasm` against what the kernel does, for every instruction of 3 functions. Of 50, in a minute or two:
#   P=$PWD/build/tests/vm/points_agree; build/kprobe-lua --vm --vm-add $P -e "os.execute('$P 50 7')"
run points_agree 3 3
cat out
status 0
out '^([0-9]+) of \1 instructions: 100.00 %$'
out '^within instructions: ([0-9]+) of \1 refused$'
out '^3 functions, .* [1-9][0-9]* optimized$'

# A module's functions: its tables lie elsewhere.
target > /dev/null
run points_agree 6 1 kpl_target
cat out
status 0
out '^([0-9]+) of \1 instructions: 100.00 %$'
