# SPDX-License-Identifier: MIT
# The kernel is locked down while probes run: they can be looked at and ended, and a script ends as ever. The last case:
# nothing can be probed after it.
[ -d /sys/kernel/security/integrity ] || mount -t securityfs none /sys/kernel/security 2> /dev/null
[ -e /sys/kernel/security/lockdown ] || lacks "this kernel has no lockdown"
# Integrity: what changes the running kernel is refused, probes are not.
echo integrity > /sys/kernel/security/lockdown
run kprobe-lua --unsafe -e 'kprobe("read_zero", function(p) p.arg0 = p.arg0 end)'
status 1
one_error
err '^kprobe-lua: --unsafe: .* the kernel is locked down'
run kprobe-lua -v -c 'dd if=/dev/zero of=/dev/null bs=8 count=5 2>/dev/null' -e 'n = count() kretprobe("read_zero", function() n:add() end)'
status 0
line '@n: 5'
err 'not direct: read_zero: direct calls take CAP_SYS_ADMIN, and a kernel that is not locked down'
run kprobe-lua -c 'abi_test --lockdown && dd if=/dev/zero of=/dev/null bs=8 count=5 2>/dev/null' \
    -e 'n = count() kprobe("read_zero", function() n:add() end)'
status 0
line '@n: 5'
quiet_err
run kprobe-lua -e 'kprobe("read_zero", function() end)'
status 1
one_error
err 'locked down'
