# SPDX-License-Identifier: MIT
# limit: 900
# Code that the kernel rewrites or copies, where it lets a probe stand and then dies of it: refused by name, by address and
# inside, left out of globs; nothing else stands against the rest. All that fails is told, not the first of it alone.
script refused.lua <<'LUA'
local function address(symbol)
  for line in io.lines "/proc/kallsyms" do
    local at, name = line:match "^(%x+) %a (%S+)"
    if name == symbol then return tonumber(at:sub(1, 8), 16) * 0x100000000ULL + tonumber(at:sub(9), 16) end
  end
end
kprobe({ "__SCT__x86_pmu_handle_irq", "__SCT__x86_pmu_handle_irq+5", "no_such_function" }, function() end)
kretprobe { "ftrace_caller", ret = function() end }
kretprobe { "__switch_to", ret = function() end }
kprobe(address "ftrace_regs_caller" + 4, function() end)
kprobe("kprobe_lua:__SCT__kpl_hook_return", function() end)
kprobe("start_secondary", function() end)
kprobe("trace_clock_local+4", function() end)
kprobe("function_trace_call+4", function() end)
kprobe("ring_buffer_lock_reserve", function() end)
kretprobe { "return_to_handler", ret = function() end }
LUA
run kprobe-lua refused.lua
status 1
[ "$(wc -l < err)" = 12 ] || fail 'not twelve lines'
[ "$(grep -c "can't probe .*: tracers call it at each function, those that handle a breakpoint, too" err)" = 3 ] || fail 'not three tracers'
err "can't probe trace_clock_local: the entry of a breakpoint calls it, before kprobes knows of the breakpoint"
err "can't probe start_secondary: a CPU runs it where it can take no breakpoint"
[ "$(grep -c "can't probe .*: the kernel rewrites or copies this code" err)" = 5 ] || fail 'not five trampolines'
err "^refused.lua:9: can't probe the return of __switch_to: it returns as another task"
err "^refused.lua:7: no function 'no_such_function' in this kernel"
# where nobody calls: new tasks begin there, or another part of the function jumps there
for place in $(sed -nE 's/.* [tT] (ret_from_fork(_asm)?|__x64_sys_setitimer\.cold)$/\1/p' /proc/kallsyms); do
    run kprobe-lua -c true -e "kretprobe { '$place', via = 'kretprobe', ret = function() end }"
    status 1
    one_error
    err "^-e:1: can't probe the return of $place: it is "
done
[ -n "$place" ] || fail 'this kernel has none'
# what the compiler did not inline into what is forbidden, on some kernels
for variant in $(sed -nE 's/.* t (objpool_(push|pop)[^ ]*)$/\1/p' /proc/kallsyms); do
    run kprobe-lua -c true -e "kretprobe('$variant', function() end)"
    status 1
    one_error
    err "^-e:1: can't probe the return of objpool_.*: the kernel's own return probes call it"
    run kprobe-lua -c true -e "kprobe('$variant', function() end)"
    status 0
done
# where a fault is made good by the kernel's table: stepped, it would not be; and what would be stepped with interrupts off
for row in 'xrstor __fpu_restore_sig fpu__restore_sig' 'hlt native_halt sev_es_terminate'; do
    for function in ${row#* }; do
        at=$(kprobe-lua disasm "$function" 2> /dev/null | awk -v what="[ \t]${row%% *}" '$0 ~ what { print $1; exit }')
        [ -z "$at" ] || break
    done
    [ -n "$at" ] || case $(uname -r) in *-amd64) fail "no ${row%% *} in ${row#* }" ;; *) continue ;; esac
    run kprobe-lua -c true -e "kprobe('$function$at', function() end)"
    status 1
    one_error
    err "^-e:1: can't probe $function\\$at: the kernel allows no probe there"
done
# what all returns go through, what runs without an IDT, what is copied; and who sleeps in a function and wakes up elsewhere
names='__fentry__|__x86_return_thunk|srso_return_thunk|native_write_msr|restore_processor_state|relocate_kernel|identity_mapped'
for place in $(sed -nE "s/^([0-9a-f]+) [tT] ($names)\$/0x\1/p" /proc/kallsyms); do
    run kprobe-lua -c true -e "kprobe('$place', function() end)"
    status 1
    one_error
    err "^-e:1: can't probe .*: "
done
for place in $(sed -nE 's/^([0-9a-f]+) [tT] (cr4_set_bits|cpu_init_secondary|memset_orig)$/0x\1/p' /proc/kallsyms); do
    run kprobe-lua -c true -e "kprobe('$place', function() end)"
    status 1
    one_error
    err "^-e:1: can't probe .*: the kernel(.s blacklist forbids it| allows no probe there)"
done
if grep -q ' x86_acpi_enter_sleep_state$' /proc/kallsyms; then
    run kprobe-lua -c true -e "kretprobe { 'x86_acpi_enter_sleep_state', via = 'kretprobe', ret = function() end }"
    status 1
    one_error
    err "^-e:1: can't probe x86_acpi_enter_sleep_state: no return can be caught there"
fi
# a label within a module's function in assembler
target > /dev/null
for via in kretprobe direct; do
    run kprobe-lua -c true -e "kretprobe { 'kpl_target:kpl_t_label', via = '$via', ret = function() end }"
    status 1
    one_error
done
run kprobe-lua -c true -e 'kretprobe("kpl_target:kpl_t_label", function() end)'
status 1
one_error
err "^-e:1: can't probe kpl_target:kpl_t_label: no return can be caught there"
run kprobe-lua --unsafe -c true -e 'kprobe("kpl_target:kpl_t_label", function() override(0) end)'
status 1
one_error
err 'override leaves a whole function out'
run kprobe-lua -c true -e 'kprobe("kpl_target:kpl_t_label", function() end)'
status 0
# the last function of a module, behind which the kernel would read on: nothing is mapped there, in some kernels
last=$(awk '$4 == "[kpl_target]" && $3 == "cleanup_module" { print $1, $3 }' /proc/kallsyms)
run kprobe-lua -c true -e "kprobe { '0x${last% *}', via = 'kprobe', pre = function() end }"
if kprobe-lua disasm "kpl_target:${last#* }" | grep -q "the module's last function"; then
    status 1
    one_error
    err "^-e:1: can't probe .*: the kernel allows no probe there"
else
    case $(uname -r) in 6.1.*) ;; *-cloud-amd64) fail 'disasm does not know of the last function' ;; esac
    status 0
fi
# globs leave them out, on the path that would not refuse them by itself
script globs.lua <<'LUA'
local n = count()
kprobe { "__SCT__x86_pmu_handle*", optional = true, via = "kprobe", pre = function() end }
kprobe { "ftrace_*caller*", optional = true, via = "kprobe", pre = function() end }
kretprobe { "__switch_t[o]", optional = true, ret = function() end }
every(0.3, function()
  kretprobe { "vfs_read", ret = function() n:add() end }
  kprobe("vfs_write", function() n:add() end)
  every(0.2, function() exit() end)
end)
LUA
run kprobe-lua globs.lua
status 0
err "no function that matches '__switch_t\[o\]' can be probed: 1 blacklisted"
err "no function that matches '__SCT__x86_pmu_handle.*' can be probed: 1 parts of functions"
run kprobe-lua -l 'ftrace_regs_call*'
status 1
[ ! -s out ] || fail 'listed'
one_error
err "no function that can be probed matches 'ftrace_regs_call"
run kprobe-lua disasm __SCT__x86_pmu_handle_irq
status 0
out 'static call: the kernel rewrites'
out ' 0 can be probed'
run kprobe-lua disasm ftrace_caller
out ' 0 can be probed'
run kprobe-lua disasm start_kernel
status 1
one_error
err 'start_kernel is start-up code, which the kernel has freed'
run kprobe-lua -c true -e 'kprobe(":vfs_read", function() end)'
status 1
err "target ':vfs_read' names no module"
