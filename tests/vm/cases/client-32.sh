# SPDX-License-Identifier: MIT
# A process of 32 bits: its calls, mappings and polls of the device, and its end with a probe armed.
at=$(awk '$3 == "__ia32_sys_getpriority" { print $1 }' /proc/kallsyms)
[ -n "$at" ] || skip 'the kernel runs no programs of 32 bits'
run client32 "$at"
status 0
left_nothing
