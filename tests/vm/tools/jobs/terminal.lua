-- SPDX-License-Identifier: MIT
-- Two processes write to a terminal whose other side does not read until both have slept for 0.2 s: the first waits for
-- room, the second for the mutex that the first holds. Then one says "hello". terminal-name has the terminal's name.
local ffi, C = require "ffi", require "libc"
local text, bytes = ("x"):rep(4096), ffi.new "char[65536]"
local master = C.posix_openpt(258)
C.grantpt(master)
C.unlockpt(master)
local name = ffi.string(C.ptsname(master))
local slave = C.open(name, 258)
local f = io.open("terminal-name", "w")
f:write(name)
f:close()
while not io.open "go" do C.usleep(20000) end
local function wait_until_asleep(pid)
  local state
  repeat
    C.usleep(10000)
    local stat = assert(io.open(("/proc/%d/stat"):format(pid)))
    state = stat:read("*a"):match "%) (%a)"
    stat:close()
  until state == "S"
end
local children = {}
for i = 1, 2 do
  children[i] = C.fork()
  if children[i] == 0 then
    for _ = 1, 4 do C.write(slave, text, 4096) end
    C._exit(0)
  end
  wait_until_asleep(children[i])
end
C.usleep(200000)
local got = 0
while got < 2 * 4 * 4096 do got = got + tonumber(C.read(master, bytes, 65536)) end
for i = 1, 2 do C.waitpid(children[i], nil, 0) end
C.write(slave, "hello\n", 6)
