-- SPDX-License-Identifier: MIT
local options, out, fail = require "kprobe.tool" {
  subject = "processes",
  description = "Shows what is written to a terminal, as it stands there.",
  needs = { "n_tty_write" },
  options = { { "TTY", "the terminal: pts/0, tty1, ttyS0 or its path" } },
  example = [[
# ttysnoop-kpl ttyS0
make: nothing to be done

What somebody else's session shows, byte by byte. What is typed there is seen where the terminal echoes it.]],
}

local path = options.tty:match "^/" and options.tty or "/dev/" .. options.tty
local file = io.open(path)
if not file then fail("no terminal %s", path) end
file:close()
local name, index = path:match "([%a]+)/?(%d*)$"
local wanted, written = name .. index, event()
kprobe { "n_tty_write", budget = 100000, pre = function(p, tty, opened, text, size)
  if size == 0 or str(tty.name, 64) ~= wanted then return end
  for at = 0, size - 1, 240 do
    local n = 240
    if size - at < n then n = size - at end
    written { text = buf(text + at, n) }
  end
end }
written:each(function(e)
  if out.json then return out:emit("write", { text = e.text }) end
  printf((e.text:gsub("%%", "%%%%"))) -- the format's own text goes out as it is, to -o FILE, too
end)
