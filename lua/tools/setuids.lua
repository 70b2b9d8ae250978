-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "processes",
  description = "Shows who becomes another user.",
  options = { "process" },
  columns = { { "PID", "%-7d" }, { "COMM", "%-16s" }, { "UID", "%-6d" }, { "SYSCALL", "%-9s" }, { "RET", "%4d" }, { "ARGS", "%s" } },
  example = [[
# setuids-kpl
PID     COMM             UID    SYSCALL    RET ARGS
174     luajit           0      setresuid    0 ruid=-1 euid=65534 suid=-1
174     luajit           0      setuid       0 uid=0

By setuid, setresuid and setfsuid. One that fails with -1 (EPERM) has asked for what it may not
have. setfsuid returns the user that there was before.]],
}

local changes = event()
syscall { "setuid", when = options.when,
  entry = function(p, to) p.data.to, p.data.uid = to, uid() end,
  ret = function(p, ret) changes { pid = pid(), comm = comm(), uid = p.data.uid, syscall = "setuid", ruid = p.data.to, ret = ret } end,
}
syscall { "setfsuid", when = options.when,
  entry = function(p, to) p.data.to, p.data.uid = to, uid() end,
  ret = function(p, ret) changes { pid = pid(), comm = comm(), uid = p.data.uid, syscall = "setfsuid", ruid = p.data.to, ret = ret } end,
}
syscall { "setresuid", when = options.when,
  entry = function(p, real, effective, saved) p.data.real, p.data.effective, p.data.saved, p.data.uid = real, effective, saved, uid() end,
  ret = function(p, ret)
    changes { pid = pid(), comm = comm(), uid = p.data.uid, syscall = "setresuid", ruid = p.data.real, euid = p.data.effective,
      suid = p.data.saved, ret = ret }
  end,
}
local function signed(n) return bit.tobit(tonumber(n)) end
changes:each(function(e)
  local wide = e.syscall == "setresuid"
  e.args = wide and ("ruid=%d euid=%d suid=%d"):format(signed(e.ruid), signed(e.euid), signed(e.suid)) or ("uid=%d"):format(signed(e.ruid))
  out.row(e)
end)
