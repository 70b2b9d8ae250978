# SPDX-License-Identifier: MIT
# System calls: names and types of their parameters, private data, 32-bit calls, globs, names that differ, what is wrong.
script calls.lua <<'LUA'
local opens, calls, ways, slow = event(), count(), count(), event()
local open = syscall { "openat", when = { comm = "syscalls" },
  entry = function(p, dfd, filename, flags, mode)
    p.data.path, p.data.flags, p.data.dfd = ustr(filename), flags, p.args.dfd
    p.data.compat = p.compat
  end,
  ret = function(p, fd)
    if starts(p.data.path, "/no/such") then
      opens { path = p.data.path, flags = p.data.flags, dfd = p.data.dfd, compat = p.data.compat, ret = fd, func = p.func }
    end
  end,
}
local all = syscall { "get*id", when = { comm = "syscalls" }, entry = function(p) calls[p.func]:add() ways[p.compat]:add() end }
local one = syscall { "fstat", when = { comm = "syscalls" }, ret = function(p, n) if n == 0 then calls[p.func]:add() end end }
syscall("clock_nanosleep", function(p, clock, flags, rqtp)
  if p.args.which_clock == 1 and rqtp.tv_sec == 5 then slow { ns = rqtp.tv_nsec, third = rqtp ~= nil } end
end)
opens:each(function(e) print(e.path, ("%x"):format(e.flags), e.dfd, e.compat, e.ret, e.func) end)
slow:each(function(e) print("slow", e.ns, e.third) end)
at_exit(function()
  print("getpid", calls:value "getpid")
  print("fstat", calls:value "fstat", one:stats().returns.hits >= 7)
  print("ways", ways:value(true), ways:value(false) >= 5)
  print(open.state, all.state, one.state)
  local s = open:stats()
  print(s.hits == s.handled + s.skipped, s.returns.hits == s.handled, s.returns.outstanding)
end)
LUA
run kprobe-lua -c 'sh -c "syscalls getpid 5; syscalls getpid32 3; syscalls openat 2; syscalls openat32 1; syscalls fstat 7; syscalls nosleep 1"' calls.lua
status 0
quiet_err
lines 2 '^/no/such/file	80002	-100	false	-2	openat$'
lines 1 '^/no/such/file	80002	-100	true	-2	openat$'
line 'getpid	8'
out '^fstat	[0-9]+	true$'
line 'ways	3	true'
line 'slow	-1	true'
out '^true	true	0$'
# every one of them, by name; what has no parameters suits a handler that names none
script every.lua <<'LUA'
local calls = count()
local all = syscall("*", function(p) if comm() == "syscalls" then calls[p.func]:add() end end)
at_exit(function() print(calls:value "getpid", calls:value "execve" , all.state) end)
LUA
run kprobe-lua -q --max-probes=2000 -c 'syscalls getpid 40' every.lua
status 0
out '^40	[01]	ftrace$'
refuses "no system call 'opennat' in this kernel; near to it: openat" 'syscall("opennat", function() end)'
refuses "no system call 'no_such_\*' in this kernel" 'syscall("no_such_*", function() end)'
refuses "the handler has 3 parameters for the system call's 1.*it is close\(unsigned int fd\)" 'syscall("close", function(p, a, b, c) end)'
refuses "the probed system call has no parameter 'file'.*it is read\(unsigned int fd, char \*buf, size_t count\)" 'syscall("read", function(p) print(p.args.file) end)'
refuses "p.data exists only where a call is followed to its return" 'syscall("read", function(p) p.data.x = 1 end)'
refuses "str reads the kernel's memory, and name is an address of the process" 'syscall("openat", function(p, dfd, name) print(str(name)) end)'
run kprobe-lua -l 'syscall:*stat'
status 0
for name in fstat stat lstat; do line "$name"; done
run kprobe-lua -lv 'syscall:uname'
status 0
line '    uname(struct new_utsname *name)'
left_nothing
