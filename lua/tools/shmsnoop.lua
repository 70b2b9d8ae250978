-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "memory",
  description = "Shows calls on System V shared memory.",
  needs = { "__x64_sys_shmget", "__x64_sys_shmat", "__x64_sys_shmdt", "__x64_sys_shmctl" },
  options = { "process", "timestamp" },
  columns = { { "PID", "%-6d" }, { "COMM", "%-16s" }, { "SYS", "%-6s" }, { "RET", "%16s" }, { "ARGs", "%s" } },
  example = [[
# shmsnoop-kpl
PID    COMM             SYS                 RET ARGs
354    luajit           shmget              0x0 key: 0x1234, size: 4096, shmflg: 0x3a4
354    luajit           shmat    0x7faf5313d000 shmid: 0x0, shmaddr: 0x0, shmflg: 0x0
354    luajit           shmdt               0x0 shmaddr: 0x7faf5313d000
354    luajit           shmctl              0x0 shmid: 0x0, cmd: 0, buf: 0x0

Segments outlive their processes: a shmget without a shmctl of IPC_RMID (cmd 0) stays until the
next boot. ipcs shows what is there.]],
}

-- What each call's arguments are called, and how they are written.
local calls = {
  shmget = { "key: 0x%x", "size: %d", "shmflg: 0x%x" }, shmat = { "shmid: 0x%x", "shmaddr: 0x%x", "shmflg: 0x%x" },
  shmdt = { "shmaddr: 0x%x" }, shmctl = { "shmid: 0x%x", "cmd: %d", "buf: 0x%x" },
}
local seen = event()
for name in pairs(calls) do
  kretprobe { "__x64_sys_" .. name, when = options.when,
    entry = function(p)
      local regs = ffi.cast("struct pt_regs *", p.arg[1])
      p.data.a, p.data.b, p.data.c = regs.di, regs.si, regs.dx
    end,
    ret = function(p, result)
      seen { pid = pid(), comm = comm(), sys = name, result = result, a = p.data.a, b = p.data.b, c = p.data.c }
    end,
  }
end
seen:each(function(e)
  local args = {}
  for i, text in ipairs(calls[e.sys]) do args[i] = text:format(({ e.a, e.b, e.c })[i]) end
  e.ret, e.args = ("0x%x"):format(e.result), table.concat(args, ", ")
  out.row(e)
end)
