-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "processes",
  description = "Shows the lines that are entered into bash.",
  options = { "process", { "-s --shared FILE", "the library or program that has readline()", default = "bash" } },
  columns = { { "TIME", "%-9s" }, { "PID", "%-7d" }, { "COMMAND", "%s" } },
  example = [[
# bashreadline-kpl
TIME      PID     COMMAND
14:07:30  124     echo one two

Every bash is seen, also those that start later, and each line as it was entered, before bash
makes anything of it. Where bash takes readline from a library, name that: -s libreadline.]],
}

local lines = event()
uretprobe { options.shared .. ":readline", when = options.when, ret = function(p, line)
  if line ~= 0 then lines { pid = pid(), command = ustr(line, 1024) } end
end }
lines:each(out.row)
