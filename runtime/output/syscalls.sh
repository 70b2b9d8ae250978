#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: syscalls.sh COMPILER FILE
# The machine's system calls by number, as its headers have them: a line {number, "name"}, for each.
set -eu
echo '#include <asm/unistd.h>' | "$1" -E -dM -x c - |
    sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9][0-9]*\)$/\2 \1/p' | sort -n |
    sed 's/^\([0-9]*\) \(.*\)$/{\1, "\2"},/' > "$2"
