# SPDX-License-Identifier: MIT
# Numbers shown as text, and the kernel's variables, against what the machine says.
mkdir -p cg && mount -t cgroup2 none cg && mkdir cg/one cg/one/two || fail 'no cgroup2'
script text.lua <<'LUA'
local ev, c = event(), count()
kprobe { "read_zero", when = { cgroup = "/one/two" }, pre = function(p)
  ev { path = cgroup_path(cgroup()), e = errno_name(-2), s = signal_name(9), k = enumname("enum pid_type", PIDTYPE_TGID),
    t = strftime("%Y-%m-%dT%H:%M", now()), f = strftime("%f", now()), n = syscall_name(0), a = ntop(2, 0x0100007f) }
  c[{ cgroup_path(cgroup()), errno_name(13) }]:add()
end }
kprobe { "read_null", when = { cgroup = "/one" }, pre = function(p) print "wrong group" end }
ev:each(function(e)
  print(e.path, e.e, e.s, e.k, e.n, e.a)
  print(e.t == os.date "%Y-%m-%dT%H:%M" or e.t == os.date("%Y-%m-%dT%H:%M", os.time() - 60), #e.f)
end)
ev:each_batch(function(b) for _, e in b:iter() do print("view", e.path, e.a) end end)
LUA
work='echo $$ > cg/one/two/cgroup.procs; dd if=/dev/zero of=/dev/null bs=8 count=1 2> /dev/null; dd if=/dev/null of=/dev/null 2> /dev/null'
run kprobe-lua -c "$work" text.lua
status 0
line '/one/two	ENOENT	SIGKILL	PIDTYPE_TGID	read	127.0.0.1'
line 'true	6'
line 'view	/one/two	127.0.0.1'
line '@c[/one/two, EACCES]: 1'
no_out wrong
run kprobe-lua -e 'kprobe { "read_zero", when = { cgroup = "/none" }, pre = function() end }'
status 1
err 'when: there is no cgroup .*/none$'

script vars.lua <<'LUA'
kprobe { "read_zero", pre = function(p)
  local ticks = kvar("jiffies_64", "uint64_t")
  local own = kvar "runqueues"
  local later = ffi.cast("uint64_t *", kaddr "jiffies_64")[0]  -- and it ticks in between
  print(own.curr == task(), own.cpu == cpu(), ticks > 0, later - ticks < 100)
  print(kaddr "vfs_read", sym(kaddr "vfs_read"))
  exit()
end }
LUA
run kprobe-lua -c 'dd if=/dev/zero of=/dev/null bs=8 count=1 2> /dev/null' vars.lua
status 0
line 'true	true	true	true'
line "0x$(sed -n 's/^0*\([0-9a-f]*\) T vfs_read$/\1/p' /proc/kallsyms)	vfs_read"
run kprobe-lua --check -e 'kprobe("read_zero", function() print(kvar "jiffies_64") end)'
status 1
err 'BTF does not know the type of the variable'
rmdir cg/one/two cg/one
umount cg || umount -l cg
