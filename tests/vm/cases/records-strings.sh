# SPDX-License-Identifier: MIT
# Strings that a record reads itself: of each beginning, length and limit they are what str() gives to others. One that
# can't be read stops the handler where str() stands, and leaves the record before it and the one after it whole.
script names.lua <<'LUA'
local whole, parts, limits = event(), event(), event()
kprobe("vfs_read", function(p, file)
  local name = ffi.cast("unsigned long", file.f_path.dentry.d_name.name)
  if str(name, 2) ~= "nm" then return end
  whole { name = str(name), n = pid() }
  parts { a = str(name + 1), b = str(name + 2, 31), c = str(name + 7), d = str(name + 8), comm = comm() }
  limits { a = str(name, 1), b = str(name, 8), c = str(name, 9), d = str(name, 16), e = str(name + 3, 12) }
  local again = str(name + 1)
  whole { name = again, n = #again }
end)
whole:each(function(e) printf("name %s %s\n", e.name, e.n < 100 and tostring(e.n) or "-") end)
parts:each(function(e) printf("parts %s|%s|%s|%s|%s\n", e.a, e.b, e.c, e.d, e.comm) end)
limits:each(function(e) printf("limits %s|%s|%s|%s|%s\n", e.a, e.b, e.c, e.d, e.e) end)
LUA
script reads.sh <<'SH'
for name in $names; do
    echo > $name
    dd if=$name of=/dev/null bs=1 count=1 2> /dev/null
done
SH
names='nm234567 nm23456789 nm2345678901234 nm23456789012345 nm234567890123456789012345678901234567890123456789012345678901234567890'
export names
run kprobe-lua --strict -c 'sh reads.sh' names.lua
status 0
for name in $names; do
    line "name $name -"
    line "name ${name#?} $((${#name} - 1))"
    line "parts ${name#?}|$(printf %.31s ${name#??})|${name#???????}|${name#????????}|dd"
    line "limits n|$(printf %.8s $name)|$(printf %.9s $name)|$(printf %.16s $name)|$(printf %.12s ${name#???})"
done

script bad.lua <<'LUA'
local reads = event()
kprobe("vfs_read", function(p, file)
  local name = ffi.cast("unsigned long", file.f_path.dentry.d_name.name)
  if str(name, 2) ~= "nm" then return end
  reads {
    first = str(name),
    second = str(file.f_pos == 0 and 8 or name),
  }
end)
reads:each(function(e) printf("%s %s\n", e.first, e.second) end)
LUA
echo 12345 > nm1
run kprobe-lua -c 'dd if=nm1 of=/dev/null bs=1 count=3 2> /dev/null' bad.lua
status 0
line "nm1 nm1"
err '^bad.lua:7: bad address 0x8 reading '
no_err 'lost'
