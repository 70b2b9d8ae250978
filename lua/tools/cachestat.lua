-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "memory",
  description = "Counts hits and misses of the page cache.",
  needs = {
    used = { "folio_mark_accessed", "mark_page_accessed" }, "mark_buffer_dirty",
    added = { "filemap_add_folio", "add_to_page_cache_lru" },
    dirtied = { "folio_account_dirtied", "__folio_mark_dirty", "account_page_dirtied" },
  },
  options = { "interval", { "-T --time", "begin each line with the time" } },
  columns = {
    { "TIME", "%-8s", only = "time" }, { "HITS", "%8d" }, { "MISSES", "%8d" }, { "DIRTIES", "%8d" }, { "HITRATIO", "%8s" },
    { "BUFFERS_MB", "%12d" }, { "CACHED_MB", "%10d" },
  },
  example = [[
# cachestat-kpl
    HITS   MISSES  DIRTIES HITRATIO   BUFFERS_MB  CACHED_MB
     339       60        1   84.96%            0         58
     802        0        0  100.00%            0         58
     481        0        0  100.00%            0         58

Misses are what came from the disk. The ratio falls when more is in use than memory holds:
then more memory, or less of it for others, makes reads faster.]],
}

local seen = count()
for what, name in pairs(options.needs) do
  what = what == 1 and "buffers" or what
  kprobe(name, function() seen[what]:add() end)
end

local function meminfo(name)
  for line in io.lines "/proc/meminfo" do
    local kb = line:match("^" .. name .. ":%s+(%d+)")
    if kb then return math.floor(kb / 1024) end
  end
end

-- As bcc reckons: a dirtied buffer was looked for, and a page that is written need not be read.
out:ticks(function()
  local n = { used = 0, added = 0, dirtied = 0, buffers = 0 }
  for what, value in seen:take():pairs() do n[what] = tonumber(value) end
  local total, misses = math.max(n.used - n.buffers, 0), math.max(n.added - n.dirtied, 0)
  misses = math.min(misses, total)
  local hits = total - misses
  return {
    hits = hits, misses = misses, dirties = n.buffers,
    hitratio = ("%.2f%%"):format(total > 0 and 100 * hits / total or 0),
    buffers_mb = meminfo "Buffers", cached_mb = meminfo "Cached",
  }
end)
