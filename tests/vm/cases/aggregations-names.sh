# SPDX-License-Identifier: MIT
# Counts by a command's name of each length: where the helper looks at the name itself, and where comm() wrote it.
script names.sh <<'SH'
for name in '\0' a 1234567 12345678 123456789 123456789012345; do
    printf "$name" > /proc/$$/comm
    for i in 1 2 3; do kill -0 $$; done
done
SH
script names.lua <<'LUA'
local count_alone, sizes, count_too, both, last = count(), stats(), count(), count(), map()
kprobe("__x64_sys_kill", function()
  count_alone[comm()]:add()
  sizes[comm()]:add(7)
  local name = comm()
  count_too[name]:add()
  both[name]:add()
  both[comm()]:add()
  last[name] = 1
end)
LUA
run kprobe-lua --strict -c 'sh names.sh' names.lua
status 0
for name in '' a 1234567 12345678 123456789 123456789012345; do
    line "@count_alone[$name]: 3"
    line "@count_too[$name]: 3"
    line "@both[$name]: 6"
    line "@sizes[$name]: count 3, average 7, total 21, min 7, max 7"
done
quiet_err
