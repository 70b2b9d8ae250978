# SPDX-License-Identifier: MIT
# A process of 32 bits: its calls, mappings and polls of the device, and its end with a probe armed. Another's stack of it is its
# innermost function.
at=$(awk '$3 == "__ia32_sys_getpriority" { print $1 }' /proc/kallsyms)
[ -n "$at" ] || lacks 'the kernel runs no programs of 32 bits'
run client32 returns
status 0
run client32 count "$at"
status 0
left_nothing
run kprobe-lua -c "client32 count $at" -e 'n = count() kprobe { "__ia32_sys_getpriority", via = "ftrace", when = { comm = "client32" },
  pre = function() n[#ustack()]:add() end }'
status 0
line '@n[1]: 10'
