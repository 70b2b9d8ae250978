-- SPDX-License-Identifier: MIT
local names = { [0] = "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
  "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO",
  "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG",
  "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM",
  "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE" }

local options, out = require "kprobe.tool" {
  subject = "processes",
  description = "Shows which capabilities the kernel looks for, and who is asked for them.",
  needs = { "cap_capable" },
  options = {
    "process",
    { "-v --verbose", "checks that are not for the audit, too" },
    { "-K --kernel-stack", "show how the kernel came to ask" },
    { "--unique", "each process and capability once" },
  },
  columns = {
    { "TIME", "%-8s" }, { "UID", "%-6d" }, { "PID", "%-6d" }, { "COMM", "%-16s" }, { "CAP", "%-4d" }, { "NAME", "%-22s" },
    { "AUDIT", "%-5d" }, { "RET", "%d" },
  },
  example = [[
# capable-kpl
TIME     UID    PID    COMM             CAP  NAME                   AUDIT RET
06:57:37 0      171    chown            0    CAP_CHOWN              1     0
06:57:38 0      172    chroot           18   CAP_SYS_CHROOT         1     0

Which capabilities a service needs is what it is seen to be asked for: the rest of root's
rights can be taken from it. RET is 0 where it has the capability.]],
}

local no_audit = 2 -- CAP_OPT_NOAUDIT
local checks = event()
kretprobe { "cap_capable", when = options.when,
  entry = function(p, cred, ns, cap, opts)
    p.data.cap, p.data.audit = cap, 1
    if bit.band(opts, no_audit) ~= 0 then
      if not options.verbose then return false end
      p.data.audit = 0
    end
  end,
  ret = function(p, result)
    if options.kernel_stack then
      checks { uid = uid(), pid = pid(), comm = comm(), cap = p.data.cap, audit = p.data.audit, ret = result, stack = kstack() }
    else
      checks { uid = uid(), pid = pid(), comm = comm(), cap = p.data.cap, audit = p.data.audit, ret = result }
    end
  end,
}
local seen, seen_count, most_seen = {}, 0, 65536 -- numbers of processes come again
checks:each(function(e)
  local key = e.pid .. " " .. e.cap
  if options.unique then
    if seen[key] then return end
    if seen_count == most_seen then seen, seen_count = {}, 0 end
    seen[key], seen_count = true, seen_count + 1
  end
  e.name = "CAP_" .. (names[e.cap] or e.cap)
  out.row(e)
  if e.stack then out:stack(e.stack) end
end)
