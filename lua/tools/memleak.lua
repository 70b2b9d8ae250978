-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "memory",
  description = "Shows memory that was allocated and not given back, of the kernel or of processes, by where.",
  needs = {
    { "__kmalloc", "__kmalloc_noprof" }, { "kmalloc_trace", "__kmalloc_cache_noprof" }, { "kmem_cache_alloc", "kmem_cache_alloc_noprof" },
    "kfree", "kmem_cache_free",
  },
  options = {
    "interval", "process",
    { "-O --obj FILE", "memory of processes, by this library's or program's malloc; -p alone: that of libc" },
    { "-z --min-size BYTES", "objects from this size on", kind = "whole", default = 0 },
    { "-Z --max-size BYTES", "objects up to this size", kind = "positive", default = 2 ^ 40 },
    { "-T --top N", "so many ways", kind = "positive", default = 10 },
  },
  blocks = true,
  example = [[
# memleak-kpl -z 512 --comm luajit
[06:58:37] Top 1 stacks with outstanding allocations:
    19200 bytes in 30 allocations from stack
        alloc_pipe_info+0xda
        create_pipe_files+0x42
        do_pipe2+0x52
        __x64_sys_pipe2+0x18
        do_syscall_64+0x87
        entry_SYSCALL_64_after_hwframe+0x76
        0x7fcb254c7b09

Memory that grows from block to block by the same way, and never shrinks, leaks. Caches grow,
too, until memory is short. Each allocation is sent to user space: on a busy machine, -z, -Z
or --comm say what is looked at. What was lost is said. With -p or -O it is the memory that
a process gets from malloc, calloc, realloc and aligned_alloc.]],
}

local least, most = options.min_size, options.max_size
local live, made, freed = map { max = 131072 }, event(), event()
local library = options.obj or options.pid and "libc"
for i = 1, library and 0 or 3 do
  local cached = i == 3
  kretprobe { options.needs[i], when = options.when, maxactive = 256,
    entry = function(p)
      local size
      if cached then size = ffi.cast("struct kmem_cache *", p.arg[1]).object_size else size = ffi.cast("int64_t", p.args.size) end
      if size < least or size > most then return false end
      p.data.size = size
    end,
    ret = function(p, object)
      local address = ffi.cast("int64_t", p.ret)
      if address == 0 then return end
      live[{ 0, address }] = true
      if not live[{ 0, address }] then return end -- it is full: nobody would see it go
      made { process = 0, address = address, size = p.data.size, stack = kstack(16) }
    end,
  }
end
local function gone(process, address)
  if live[{ process, address }] then
    live[{ process, address }] = nil
    freed { process = process, address = address }
  end
end
if not library then
  kprobe("kfree", function(p) gone(0, p.arg[1]) end)
  kprobe("kmem_cache_free", function(p) gone(0, p.arg[2]) end)
else
  for name, size_of in pairs {
    malloc = function(p) return p.arg[1] end, calloc = function(p) return p.arg[1] * p.arg[2] end,
    realloc = function(p) return p.arg[2] end, aligned_alloc = function(p) return p.arg[2] end,
  } do
    local replaces = name == "realloc"
    uretprobe { library .. ":" .. name, when = options.when, optional = name ~= "malloc",
      entry = function(p)
        local size = size_of(p)
        if replaces then gone(pid(), p.arg[1]) end
        if size < least or size > most then return false end
        p.data.size = size
      end,
      ret = function(p, address)
        if address == 0 then return end
        local stack = ustack(16)
        live[{ pid(), address }] = true
        if not live[{ pid(), address }] then return end
        made { process = pid(), address = address, size = p.data.size, stack = stack }
      end,
    }
  end
  uprobe { library .. ":free", when = options.when, function(p, address) gone(pid(), address) end }
end

local objects = {} -- process (0: the kernel) and address → { size, way }
local function name_of(e) return e.process .. " " .. tostring(e.address) end
made:each(function(e) objects[name_of(e)] = { size = e.size, way = table.concat(e.stack, "\n    ") } end)
freed:each(function(e) objects[name_of(e)] = nil end)
out:blocks(function()
  local ways, list = {}, {}
  for _, object in pairs(objects) do
    local way = ways[object.way]
    if not way then
      way = { way = object.way, bytes = 0, count = 0 }
      ways[object.way], list[#list + 1] = way, way
    end
    way.bytes, way.count = way.bytes + object.size, way.count + 1
  end
  table.sort(list, function(a, b) return a.bytes > b.bytes end)
  out:line(("[%s] Top %d stacks with outstanding allocations:"):format(os.date "%H:%M:%S", math.min(options.top, #list)))
  for i = math.min(options.top, #list), 1, -1 do
    out:line(("    %d bytes in %d allocations from stack"):format(list[i].bytes, list[i].count))
    for frame in list[i].way:gmatch "[^\n]+" do out:line("        " .. frame:gsub("^ +", "")) end
  end
end)
