-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "memory",
  description = "Counts the kernel's allocations from its caches of objects.",
  needs = {
    { "kmem_cache_alloc", "kmem_cache_alloc_noprof" }, { "kmem_cache_alloc_lru", "kmem_cache_alloc_lru_noprof" },
    { "kmem_cache_alloc_node", "kmem_cache_alloc_node_noprof" },
  },
  options = { "process", "interval", "top" },
  defaults = { top = 20 },
  columns = { { "CACHE", "%-32s" }, { "ALLOCS", "%8d" }, { "BYTES", "%10d" } },
  blocks = true,
  example = [[@@

What the kernel is busy making: dentries and inodes by who looks through a file system, filp by
who opens files, skbuff by the network.]],
}

local calls = stats()
kprobe { { options.needs[1], options.needs[2], options.needs[3] }, when = options.when, pre = function(p, cache)
  calls[str(cache.name, 64)]:add(cache.object_size)
end }
out:blocks(function()
  local records = {}
  for key, value in calls:take():pairs() do records[#records + 1] = { cache = key, allocs = value.count, bytes = value.sum } end
  table.sort(records, function(a, b) return a.allocs < b.allocs end)
  out:table(records)
end)
