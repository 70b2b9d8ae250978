# SPDX-License-Identifier: MIT
# A busy loop is sampled, with its stacks; folded lines are input for flame graphs.
cat > busy.sh << 'SH'
i=0
while [ $i -lt 30000 ]; do i=$((i + 1)); done
SH
run kprobe-lua -f folded -c 'sh busy.sh' "$KPL_ROOT/tests/data/scripts/cpuprofile.lua"
status 0
out '^sh;.* [0-9]+$'
