# SPDX-License-Identifier: MIT
# Without BTF what needs types is refused in one line, and what needs none runs.
mkdir empty
mount -o bind empty /sys/kernel/btf || fail "can't hide BTF"
run kprobe-lua -e 'kprobe("vfs_read", function(p, file) printf("%d\n", file.f_flags) end)'
cp err typed.err
typed=$status
run kprobe-lua -c 'dd if=/dev/zero of=/dev/null bs=8 count=5 2>/dev/null' -e 'n = count() kprobe("read_zero", function() n:add() end)'
umount /sys/kernel/btf
status 0
line '@n: 5'
mv typed.err err
[ "$typed" = 1 ] || fail "exit status $typed, not 1"
one_error
err 'BTF'
