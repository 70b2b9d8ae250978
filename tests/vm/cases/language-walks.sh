# SPDX-License-Identifier: MIT
# Lists, trees and arrays of the kernel, walked by handlers.
script children.lua <<'LUA'
-- the siblings of a process: a list_head, by container_of
local seen = event()
local function container_of(member, ctype, name, field)
  return ffi.cast(ctype, ffi.cast("char *", member) - ffi.offsetof(name, field))
end
kprobe { "read_zero", budget = 100000, pre = function(p)
  local parent = task().real_parent
  local at, n = parent.children.next, 0
  while at ~= parent.children do
    local t = container_of(at, "struct task_struct *", "struct task_struct", "sibling")
    seen { me = t.pid == pid(), comm = str(t.comm) }
    n, at = n + 1, at.next
  end
  printf("%d children of %s\n", n, str(parent.comm))
end }
seen:each(function(e) print(e.me, e.comm) end)
LUA
run kprobe-lua -c 'sleep 1000 & sleep 1000 & dd if=/dev/zero of=/dev/null bs=8 count=1 2>/dev/null; kill $(jobs -p)' children.lua
status 0
line '3 children of sh'
lines 1 '^true	dd$'
lines 2 '^false	'

script all.lua <<'LUA'
-- every process below the first: down by children, along siblings, up by real_parent
kprobe { "read_zero", budget = 1000000, pre = function(p)
  local to_task = ffi.offsetof("struct task_struct", "sibling")
  local first = task()
  local above = 0
  while first.pid ~= 1 do first, above = first.real_parent, above + 1 end
  local t, n, depth, mine = first, 0, 0, -1
  while n < 1000 do
    n = n + 1
    if t == task() then mine = depth end
    local below = t.children
    if below.next ~= below then
      t = ffi.cast("struct task_struct *", ffi.cast("char *", below.next) - to_task)
      depth = depth + 1
    else
      while t ~= first and t.sibling.next == t.real_parent.children do
        t, depth = t.real_parent, depth - 1
      end
      if t == first then break end
      t = ffi.cast("struct task_struct *", ffi.cast("char *", t.sibling.next) - to_task)
    end
  end
  print(n > above, depth, mine == above)
end }
LUA
run kprobe-lua -c 'dd if=/dev/zero of=/dev/null bs=8 count=1 2>/dev/null' all.lua
status 0
line 'true	0	true'

script files.lua <<'LUA'
-- open files: an array of pointers, and the bit map beside it
kprobe { "read_zero", budget = 100000, pre = function(p)
  local fdt, n, bits = task().files.fdt, 0, 0
  for fd = 0, fdt.max_fds - 1 do
    local f = fdt.fd[fd]
    if f ~= nil then
      n = n + 1
      if fd >= 5 then printf("%d %s\n", fd, str(f.f_path.dentry.d_name.name)) end
    end
  end
  local map = fdt.open_fds[0]
  while map ~= 0 do map, bits = bit.band(map, map - 1), bits + 1 end
  print(n == bits)
end }
LUA
run kprobe-lua -c 'exec 5</etc/hostname 7</dev/null; dd if=/dev/zero of=/dev/null bs=8 count=1 2>/dev/null' files.lua
status 0
line '5 hostname'
line '7 null'
line 'true'

script timers.lua <<'LUA'
-- a CPU's timers: a red-black tree, from the leftmost by successor
local walk = event()
local function leftmost(n) while n.rb_left ~= nil do n = n.rb_left end return n end
local function parent_of(n) return ffi.cast("struct rb_node *", bit.band(n.__rb_parent_color, bit.bnot(3))) end
local function successor(n)
  if n.rb_right ~= nil then return leftmost(n.rb_right) end
  local up = parent_of(n)
  while up ~= nil and n == up.rb_right do n, up = up, parent_of(up) end
  return up
end
-- where the tree's lock is held
kprobe { "timerqueue_add", budget = 100000, pre = function(p, head)
  local root = head.rb_root.rb_root.rb_node
  if root == nil then return end
  local n, count, last, sorted = leftmost(root), 0, 0, true
  while n ~= nil and count < 50 do
    local t = ffi.cast("struct timerqueue_node *", n)
    if t.expires < last then sorted = false end
    last, count, n = t.expires, count + 1, successor(n)
  end
  walk { n = count, sorted = sorted }
end }
local most, unsorted = 0, 0
walk:each(function(e)
  if e.n > most then most = e.n end
  if not e.sorted then unsorted = unsorted + 1 end
end)
at_exit(function() print(most > 1, unsorted) end)
LUA
run kprobe-lua -c 'sleep 0.2 & sleep 0.3 & sleep 0.4 & sleep 0.5' timers.lua
status 0
line 'true	0'

script many.lua <<'LUA'
-- more arguments than registers
jprobe("do_mmap", function(file, addr, len, prot, flags, a6, a7, a8)
  if file ~= nil and len == 4096 and prot == 1 then print("mapped", a8 ~= nil and true or false) exit() end
end)
LUA
run kprobe-lua -c 'dd --help > /dev/null 2>&1; sh -c :' many.lua
status 0
