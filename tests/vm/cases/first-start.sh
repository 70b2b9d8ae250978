# SPDX-License-Identifier: MIT
# The first start reads the kernel's types by the page and leaves copies of what it read when it ends; later starts go by
# them. Started at once, killed or without copies, each has the same types.
cache=/run/kprobe-lua
copy() { find $cache -name vmlinux.btf 2> /dev/null; }
probe='kprobe("do_sys_openat2", function(p, dfd, filename, how) printf("%d %d\n", how.flags, how.mode) end)'
begun() { kprobe-lua -d ir --check -e "$probe" > "$1" 2>&1 || fail "$1: $(cat "$1")"; }

rm -rf $cache
KPROBE_LUA_CACHE=off begun without
[ -z "$(copy)" ] || fail "a copy, where none is wanted"

start kprobe-lua -e "$probe"
armed
[ -z "$(copy)" ] || fail "the copy was made before the probes were armed"
kill -KILL $pid
wait $pid 2> /dev/null
[ -z "$(copy)" ] || fail "a copy of who was killed"

begun one & begun two &
wait
cmp "$(copy)" /sys/kernel/btf/vmlinux || fail "no copy, or another"
[ "$(find $cache -name '*.btf*' | wc -l)" = 1 ] || fail "parts are left"
begun again
# Casts ask for more names than one pass finds.
rm -rf $cache
many='local ffi = require "ffi"
kprobe("do_sys_openat2", function(p)
  local t, f = ffi.cast("struct task_struct *", p.arg[3]), ffi.cast("struct file *", p.arg[3])
  printf("%d %d\n", t.pid, f.f_flags)
end)
kprobe("vfs_read", function(p, file) printf("%d\n", file.f_flags) end)'
run kprobe-lua -d ir --check -e "$many"
status 0
mv out many
[ -n "$(copy)" ] || fail "no copy"
run kprobe-lua -d ir --check -e "$many"
cmp out many || fail "other types by the copy"
for other in one two again; do cmp without $other || fail "$other differs"; done
