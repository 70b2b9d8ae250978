# SPDX-License-Identifier: MIT
# Two busy loops on one CPU wait for each other.
cat > busy.sh << 'SH'
i=0
while [ $i -lt 20000 ]; do i=$((i + 1)); done
SH
run kprobe-lua -c 'sh -c "taskset 1 sh busy.sh & taskset 1 sh busy.sh; wait"' "$KPL_ROOT/tests/data/scripts/runqlat.lua"
status 0
out '^@wait:$'
out '^\[(2K|4K|8K|16K|32K), .*\) +[1-9][0-9]* \|'
