-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "files",
  description = "Shows files that are removed soon after they were made, and how old they became.",
  needs = { "security_inode_create", "vfs_unlink" },
  options = { "process" },
  columns = { { "TIME", "%-8s" }, { "PID", "%-6d" }, { "COMM", "%-16s" }, { "AGE(s)", "%-7.2f" }, { "FILE", "%s" } },
  example = [[
# filelife-kpl
TIME     PID    COMM             AGE(s)  FILE
06:57:49 207    rm               0.01    f1
06:57:49 209    rm               0.33    f2

Files that live for a moment: what a build or a database writes and removes again, and a
file system might have been spared. Only files that were made meanwhile are seen.]],
}

local born, removed = map { max = 20000 }, event()
kprobe("security_inode_create", function(p, dir, dentry) born[dentry] = now() end)
kretprobe { "vfs_unlink", when = options.when,
  entry = function(p)
    local dentry = p.args.dentry
    local at = born[dentry]
    if not at then return false end
    p.data.age, p.data.name = now() - at, str(dentry.d_name.name)
    born[dentry] = nil
  end,
  ret = function(p, result)
    if result == 0 then removed { pid = pid(), comm = comm(), age = p.data.age, file = p.data.name } end
  end,
}
removed:each(function(e)
  e.age_s = tonumber(e.age) / 1e9
  out.row(e)
end)
