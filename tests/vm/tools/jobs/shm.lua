-- SPDX-License-Identifier: MIT
-- A segment of shared memory, from its beginning to its end.
local C = require "libc"
local id = C.shmget(0x1234, 4096, 0x3a4) -- IPC_CREAT | 0644
local at = C.shmat(id, nil, 0)
C.shmdt(at)
C.shmctl(id, 0, nil)
