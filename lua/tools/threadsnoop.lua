-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "processes",
  description = "Shows which threads programs start, and what these run.",
  options = { "process", { "-l --library FILE", "the library or program that has pthread_create()", default = "libc" } },
  columns = { { "TIME(ms)", "%-10d" }, { "PID", "%-7d" }, { "COMM", "%-16s" }, { "FUNC", "%s" } },
  example = [[
# threadsnoop-kpl
TIME(ms)   PID     COMM             FUNC
131        188     server           worker [server]
131        188     server           worker [server]

Each call of pthread_create(). Before glibc 2.34, that is in a library of its own: -l libpthread.]],
}

local threads, began = event(), require "kprobe".now()
uprobe { options.library .. ":pthread_create", when = options.when,
  function(p, thread, attributes, run) threads { pid = pid(), comm = comm(), func = usym(run), time = now() } end } -- luacheck: ignore
threads:each(function(e)
  e.time_ms = math.floor(tonumber(e.time - began) / 1e6)
  out.row(e)
end)
