-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "scheduling",
  description = "Shows what processors are busy with, by stacks that a clock finds there.",
  options = {
    "process", "interval", "top",
    { "-F --frequency HZ", "so many times a second on each processor", kind = "positive", default = 49 },
    { "-U --user-stacks-only", "stacks of processes only" },
    { "-K --kernel-stacks-only", "stacks of the kernel only" },
    { "-I --include-idle", "idle processors, too" },
    { "--frames N", "so many frames at most", kind = "positive", default = 60 },
  },
  blocks = true,
  example = [[
# profile-kpl --comm server
  compress+0x41 [server]
  handle+0x1c9 [server]
  main+0x7d [server]
    server
    37

The number is how often the clock came by. Where a program was built without frame pointers, the
stack is short. With kprobe-lua -f folded profile, lines for a flame graph.]],
}

-- Two stacks fit a key up to so many frames, one up to more.
local most = (options.user_stacks_only or options.kernel_stacks_only) and 126 or 60
local frames, samples = math.min(options.frames, most), count { max = 16384 }
profile { options.frequency, when = options.when, budget = 60000, function()
  if not options.include_idle and tid() == 0 then return end
  if options.user_stacks_only then
    samples[{ comm(), ustack(frames) }]:add()
  elseif options.kernel_stacks_only then
    samples[{ comm(), kstack(frames) }]:add()
  else
    samples[{ comm(), ustack(frames), kstack(frames) }]:add()
  end
end }
out:blocks(function() out:stacks(samples, options.top) end)
