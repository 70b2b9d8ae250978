# SPDX-License-Identifier: MIT
# The process's memory, through pointers that know that they are the process's, and what is said of those that don't.
script exec.lua <<'LUA'
kprobe("__x64_sys_execve", function(p, regs)
  local argv = ffi.cast("const char user *const user *", regs.si)
  if ustr(argv[0], 16) ~= "cat" then return end
  local n = 0
  while argv[n] ~= nil do
    printf("%d:%s\n", n, ustr(argv[n], 64))
    n = n + 1
  end
end)
kprobe("__x64_sys_nanosleep", function(p, regs)
  local t = ffi.cast("struct __kernel_timespec user *", regs.di)
  printf("sleep %d %d\n", t.tv_sec, t.tv_nsec)
end)
kprobe("__x64_sys_clock_nanosleep", function(p, regs)
  local t = ffi.cast("struct __kernel_timespec user *", regs.dx)
  printf("sleep %d %d\n", t.tv_sec, t.tv_nsec)
end)
kretprobe { "vfs_write",
  entry = function(p, file, text, n) p.data.text = ffi.cast("char user *", text) return n == 5 end,
  ret = function(p, n) printf("%s/%d\n", ubuf(p.data.text, n), p.data.text[1]) end,
}
LUA
run kprobe-lua -c 'cat /etc/hostname "two words" 2>/dev/null >/dev/null; sleep 0.125; echo abcd > /tmp/five' exec.lua
status 0
line '0:cat'
line '1:/etc/hostname'
line '2:two words'
no_out '^3:'
line 'sleep 0 125000000'
line 'abcd'
line '/98'

script wrong.lua <<'LUA'
kprobe("vfs_write", function(p, file, text, n) if n == 5 then print(#str(text), text[0]) end end)
kprobe("vfs_write", function(p, file, text, n) if n == 5 then print(ffi.cast("struct file user *", file).f_mode) end end)
kprobe("vfs_write", function(p, file, text, n) if n == 5 then print(ffi.cast("char *", 8)[0]) end end)
LUA
run kprobe-lua -c 'echo abcd > /tmp/five' wrong.lua
status 0
err '^wrong.lua:1: bad address 0x[0-9a-f]+ reading str\(text\): an address of the process: ustr, ubuf, or a pointer cast to "… user \*" \(1 hit\)$'
err '^wrong.lua:2: user memory is bad or not resident 0xff[0-9a-f]+ reading file.f_mode: an address of the kernel: str, buf \(1 hit\)$'
err '^wrong.lua:3: bad address 0x8 reading …\[0\] \(1 hit\)$'
