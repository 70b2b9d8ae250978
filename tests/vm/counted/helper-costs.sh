# SPDX-License-Identifier: MIT
# limit: 300
# No helper takes more instructions than helpers.def declares: every row, at its worst.
target > /dev/null
address() { sed -n "s/ . $1	.*//p" /proc/kallsyms; }
run helper_costs "$(address kpl_t_long)" "$(address kpl_t_path)"
cp out all
grep -F FAILED all > out
tail -n 1 all
status 0
