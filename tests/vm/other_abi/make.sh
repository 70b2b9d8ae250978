#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: make.sh KMOD_DIRECTORY KERNEL_BUILD DIRECTORY
# DIRECTORY/kprobe_lua.ko: the module with a row more in each of the tables that user space compiles in, too.
set -e
kmod=$1 kernel=$2 dir=$3
mkdir -p "$dir/src"
cp -au "$kmod/." "$dir/src" # kbuild compiles again what is newer
unset MAKEFLAGS MFLAGS MAKELEVEL # of a make that may stand above: its job server is not for us
make -s -C "$kernel" M="$dir/src" CONFIG_DEBUG_INFO_BTF_MODULES= KPL_TEST_ROWS=ON KCFLAGS=-g0 modules
objcopy --strip-debug "$dir/src/kprobe_lua.ko" "$dir/kprobe_lua.ko"
