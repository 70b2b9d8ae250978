-- SPDX-License-Identifier: MIT
-- Three connections to port 5555 here, 8,192 bytes over each; one by IPv6, to 5558; one to a port where nobody listens.
-- `retry`: one to a listener whose queue is full, for 1.5 s.
local ffi, C = require "ffi", require "libc"
if arg[1] == "retry" then
  C.listener(5557, 0)
  for _ = 1, 3 do C.connect(C.socket(2, 2049, 0), C.address(5557)) end -- SOCK_NONBLOCK
  C.usleep(1500000)
  return
end
local s, bytes = C.listener(5555, 8), ffi.new "char[8192]"
for _ = 1, 3 do
  local client = C.socket(2, 1, 0)
  assert(C.connect(client, C.address(5555)) == 0, "connect")
  local server = C.accept(s, nil, nil)
  assert(C.write(client, bytes, 8192) == 8192, "write")
  local got = 0
  while got < 8192 do got = got + tonumber(C.read(server, bytes, 8192)) end
  C.close(client)
  C.read(server, bytes, 1)
  C.close(server)
end
C.listener(5558, 1, true)
C.connect(C.socket(10, 1, 0), C.address(5558, true))
assert(C.connect(C.socket(2, 1, 0), C.address(5556)) ~= 0, "nobody listens there")
