-- SPDX-License-Identifier: MIT
-- What the workloads below call of libc.
local ffi, bit = require "ffi", require "bit"
ffi.cdef [[
  struct in4 { uint16_t family, port; uint32_t address; uint8_t zero[8]; };
  struct in6 { uint16_t family, port; uint32_t flow; uint8_t address[16]; uint32_t scope; };
  int socket(int, int, int); int bind(int, const void *, unsigned); int listen(int, int);
  int connect(int, const void *, unsigned); int accept(int, void *, void *); int shutdown(int, int);
  long read(int, void *, size_t); long write(int, const void *, size_t); int close(int); int open(const char *, int, ...);
  int pipe(int *); int fork(void); int waitpid(int, int *, int); void _exit(int); int usleep(unsigned);
  int shmget(int, size_t, int); void *shmat(int, const void *, int); int shmdt(const void *); int shmctl(int, int, void *);
  void *mmap(void *, size_t, int, int, int, long); int madvise(void *, size_t, int);
  int posix_openpt(int); int grantpt(int); int unlockpt(int); char *ptsname(int);
]]
local M = setmetatable({}, { __index = ffi.C })



local function swapped(port) return bit.bor(bit.lshift(bit.band(port, 255), 8), bit.rshift(port, 8)) end

-- 127.0.0.1, or ::1
function M.address(port, six)
  if not six then return ffi.new("struct in4", 2, swapped(port), 0x0100007f), 16 end
  local a = ffi.new("struct in6", 10, swapped(port))
  a.address[15] = 1
  return a, 28
end
function M.listener(port, backlog, six)
  local s = ffi.C.socket(six and 10 or 2, 1, 0)
  assert(ffi.C.bind(s, M.address(port, six)) == 0 and ffi.C.listen(s, backlog) == 0, "listen")
  return s
end
return M
