-- SPDX-License-Identifier: MIT
-- Two processes write to a terminal whose other side does not read for 0.4 s: the first waits for room, the second for the
-- mutex that the first holds. Then one says "hello". Prints the terminal's name once it is there.
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
local children = {}
for i = 1, 2 do
  children[i] = C.fork()
  if children[i] == 0 then
    for _ = 1, 4 do C.write(slave, text, 4096) end
    C._exit(0)
  end
  C.usleep(100000)
end
C.usleep(400000)
local got = 0
while got < 2 * 4 * 4096 do got = got + tonumber(C.read(master, bytes, 65536)) end
for i = 1, 2 do C.waitpid(children[i], nil, 0) end
C.write(slave, "hello\n", 6)
