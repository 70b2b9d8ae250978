#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
# usage: abi-hash.sh KMOD_DIRECTORY [TEST_ROWS]
# 64 bits of a hash over all that the module and user space both compile in: tables, numbers and structures, without
# comments and spacing. Kbuild and CMake give it to the two sides; opening the device compares them.
set -e
cd "$1"
# TEST_ROWS: anything, if the tables are compiled with the rows that are for tests.
for file in uapi/*.def uapi/*.h core/insns.def; do
    echo "$file"
    # Tabs and newlines to spaces, then comments away: a comment ends at the first */.
    tr -s '[:space:]' ' ' <"$file" | sed 's,/\*,\n&,g; s,\*/,&\n,g' | sed '/^\/\*.*\*\/$/d' | tr -s '[:space:]' ' '
done | { cat; echo "$2"; } | sha256sum | cut -c1-16
