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
# What a script prints itself is an object of its type, too.
script print.lua <<'LUA'
local n, sizes, none, last = count(), sum(), count(), map()
kprobe("read_zero", function(p, file, buf, size)
  n[comm()]:add(); sizes:add(size)
  last[comm()] = { size = size, func = p.func }
end)
at_exit(function()
  print(n)
  print(sizes:take())
  print(none)
  print(last)
  print("n:", n)
end)
LUA
run kprobe-lua -f json -c 'dd if=/dev/zero of=/dev/null bs=8 count=2 2>/dev/null' print.lua
status 0
line '{"type":"map","data":{"@n":{"dd":2}}}'
line '{"type":"map","data":{"@sizes":16}}'
line '{"type":"printf","data":"n:\t@n[dd]: 2\n"}'
line '{"type":"map","data":{"@last":{"dd":{"func":"read_zero","size":8}}}}'
lines 5 .
# Names that differ only in what JSON can't have are one.
script row.lua <<'LUA'
require "kprobe".emit_row("row", { "n\255", "n\254" }, { 1, 2 })
kprobe("read_zero", function() end)
LUA
run kprobe-lua -f json --dry-run row.lua
status 0
line '{"type":"row","data":{"n�":2}}'
