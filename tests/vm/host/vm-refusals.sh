# SPDX-License-Identifier: MIT
# What keeps a VM from starting is said in one line that names the way out.
run kprobe-lua --vm=5.4 -e 'print(1)'
status 1
one_error
err 'no kernel 5\.4 in /boot .*apt-get install'
run env KPROBE_LUA_MODULE_DIR=/nonexistent kprobe-lua --vm=6.1 -e 'print(1)'
status 1
one_error
err 'no module for kernel 6\.1.*apt-get install linux-headers-6\.1.*make'
run kprobe-lua --vm=6.1 --vm-add /nonexistent -e 'print(1)'
status 1
one_error
err '/nonexistent: no such file'
mkdir bin
ln -s "$(command -v kprobe-lua)" bin/
run env PATH="$PWD/bin" kprobe-lua --vm=6.1 -e 'print(1)'
status 1
one_error
err 'apt-get install qemu-system-x86'
