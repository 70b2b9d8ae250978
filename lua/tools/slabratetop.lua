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
  example = [[
# slabratetop-kpl --top 8
CACHE                              ALLOCS      BYTES
filp                                   33       6072
shared_policy_node                     33       1584
maple_node                             47      12032
anon_vma                               54       5184
anon_vma_chain                        101       6464
vma_lock                              130       5200
vm_area_struct                        130      22880
names_cache                          1023    4190208

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
