# SPDX-License-Identifier: MIT
run kprobe-lua -v -c 'sh -c "true; (true); true"; (true); true' "$KPL_ROOT/tests/data/scripts/ancestry.lua"
status 0
line '@depth:'
out '^\[[1-9][0-9]*, [0-9]+\) +[0-9]+ \|@'
no_out '^\[0, 1\)'
err '^do_exit \([^ ]+:[0-9]+\): ([0-9]+) hits = \1 handled'
