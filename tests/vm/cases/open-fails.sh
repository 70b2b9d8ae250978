# SPDX-License-Identifier: MIT
# Data goes from entry to return of one call, and a string from user space comes out whole.
script failed.lua <<'LUA'
local failures = event()
kretprobe { "do_sys_openat2",
  entry = function(p, dfd, filename) p.data.path = ustr(filename) end,
  ret = function(p, fd)
    if fd < 0 then failures { comm = comm(), path = p.data.path, err = -fd } end
  end,
}
failures:each(function(e) print(("%s %d %s"):format(e.comm, e.err, e.path)) end)
LUA
echo here > present
run kprobe-lua -c 'cat present /nonexistent/some/where > /dev/null' failed.lua
status 0
line 'cat 2 /nonexistent/some/where'
no_out present
