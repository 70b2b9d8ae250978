-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "functions",
  description = "Counts the ways on which the kernel comes to a function.",
  options = {
    { "PATTERN", "functions: a name, tcp_send*, ext4:* or several of these", many = true },
    "process", "interval", "top",
    { "-P --per-process", "for each command by itself" },
    { "--frames N", "so many frames at most", kind = "positive", default = 32 },
  },
  blocks = true,
  example = [[
# stackcount-kpl vfs_write --comm dd
  vfs_write
  ksys_write+0x6f
  do_syscall_64+0x87
  entry_SYSCALL_64_after_hwframe+0x76
  0x47b7a0
    201

Who calls it, and on whose behalf. With kprobe-lua -f folded stackcount, lines for a flame graph.]],
}

local frames, ways, name = math.min(options.frames, 127), count { max = 16384 }, options.per_process
kprobe { options.pattern, when = options.when, pre = function()
  if name then ways[{ comm(), kstack(frames) }]:add() else ways[kstack(frames)]:add() end
end }
out:blocks(function() out:stacks(ways, options.top) end)
