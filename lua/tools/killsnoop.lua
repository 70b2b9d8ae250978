-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "processes",
  description = "Shows who sends which signal to whom.",
  options = {
    "process",
    { "-x --failed", "failed ones only" },
    { "-s --signal N", "this signal only", kind = "whole" },
  },
  columns = {
    { "TIME", "%-9s" }, { "PID", "%-7d" }, { "COMM", "%-16s" }, { "SIG", "%-4d" }, { "TPID", "%-7d" }, { "RESULT", "%d" },
  },
  example = [[
# killsnoop-kpl
TIME      PID     COMM             SIG  TPID    RESULT
14:02:11  163     sh               0    164     0
14:02:11  163     sh               15   164     0

Who has ended that process. Signal 0 only asks whether it is there. By kill, tkill and tgkill.]],
}

local signal, kills = options.signal, event()
local function snoop(calls, nth)
  syscall { calls, when = options.when,
    entry = function(p)
      if signal and p.arg[nth] ~= signal then return false end
      p.data.to, p.data.sig = p.arg[nth - 1], p.arg[nth]
    end,
    ret = function(p, result)
      if result >= 0 and options.failed then return end
      kills { pid = pid(), comm = comm(), sig = p.data.sig, tpid = p.data.to, result = result }
    end,
  }
end
snoop({ "kill", "tkill" }, 2)
snoop({ "tgkill" }, 3)
local function signed(n) return bit.tobit(tonumber(n)) end
kills:each(function(e)
  e.sig, e.tpid = signed(e.sig), signed(e.tpid)
  out.row(e)
end)
