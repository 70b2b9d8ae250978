# SPDX-License-Identifier: MIT
script json.lua <<'LUA'
local n, h = count(), hist()
kprobe("read_zero", function(p) n[comm()]:add(); h:add(16); printf("%s\n", comm()) end)
LUA
run kprobe-lua -f json -c 'dd if=/dev/zero of=/dev/null bs=8 count=2 2>/dev/null' json.lua
status 0
line '{"type":"attached_probes","data":{"probes":1}}'
lines 2 '^\{"type":"printf","data":"dd\\n"\}$'
line '{"type":"map","data":{"@n":{"dd":2}}}'
line '{"type":"hist","data":{"@h":[{"min":16,"max":31,"count":2}]}}'
