-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "files",
  description = "Shows who mounts and unmounts file systems.",
  needs = { "struct mnt_namespace.ns" },
  options = { "process" },
  columns = { { "COMM", "%-16s" }, { "PID", "%-7d" }, { "TID", "%-7d" }, { "MNT_NS", "%-11d" }, { "CALL", "%s" } },
  example = [[
# mountsnoop-kpl
COMM             PID     TID     MNT_NS      CALL
mount            168     168     4026531841  mount("none", "/mnt", "tmpfs", 0x0) = 0
umount           169     169     4026531841  umount("/mnt", 0x0) = 0

MNT_NS tells containers apart: each sees its own mounts.]],
}

local calls = event()
syscall { "mount", when = options.when,
  entry = function(p, source, target, type, flags)
    p.data.source, p.data.target, p.data.type, p.data.flags = source, target, type, flags
  end,
  ret = function(p, result)
    calls { comm = comm(), pid = pid(), tid = tid(), mnt_ns = task().nsproxy.mnt_ns.ns.inum, result = result, flags = p.data.flags,
      target = try(ustr(p.data.target), "?"), source = try(ustr(p.data.source), "none"), kind = try(ustr(p.data.type), "none") }
  end,
}
syscall { "umount", when = options.when,
  entry = function(p, name, flags) p.data.name, p.data.flags = name, flags end,
  ret = function(p, result)
    calls { comm = comm(), pid = pid(), tid = tid(), mnt_ns = task().nsproxy.mnt_ns.ns.inum, result = result, flags = p.data.flags,
      target = try(ustr(p.data.name), "?") }
  end,
}
calls:each(function(e)
  if e.kind then
    e.call = ('mount("%s", "%s", "%s", 0x%x) = %d'):format(e.source, e.target, e.kind, e.flags, e.result)
  else
    e.call = ('umount("%s", 0x%x) = %d'):format(e.target, e.flags, e.result)
  end
  out.row(e)
end)
