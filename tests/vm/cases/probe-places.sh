# SPDX-License-Identifier: MIT
# A symbol, an offset, a module's symbol, an address; before and after the instruction; each counted exactly.
target_lua
script places.lua <<'LUA'
local target = require "target"
local address
for line in io.lines "/proc/kallsyms" do
  local at, name = line:match "^(%x+) %a (%S+)"
  if name == "kpl_t_inner" then
    address = bit.lshift(ffi.cast("uint64_t", tonumber(at:sub(1, 8), 16)), 32) + tonumber(at:sub(9), 16)
  end
end
local order = event()
local by_name = kprobe("kpl_t_plain", function(p) printf("name %s %d\n", p.func, p.arg[1]) end)
local by_module = kprobe("kpl_target:kpl_t_plain", function() end)
local by_address = kprobe(address, function(p) printf("address %s %d\n", p.func, p.arg[1]) end)
local inside = kprobe { "kpl_t_plain+OFFSET",
  pre = function(p) printf("pre %x\n", p.ip - p.addr) end,
  post = function(p) printf("post %s\n", p.ip > p.addr and "behind" or "elsewhere") end,
}
local list = kprobe({ "kpl_t_plain", { "kpl_t_outer", "kpl_t_inner" } }, function() end)
target.steps {
  function() target.call "plain 3" end,
  function() target.call "outer 2" end,
  function()
    print("hits", by_name:stats().hits, by_module:stats().hits, by_address:stats().hits, inside:stats().hits, list:stats().hits)
    print("post", inside:stats().post.hits, inside:stats().post.handled)
    print(by_name.state, inside.state)
  end,
}
LUA
# the first instruction after the function's entry, whatever the compiler made of it
offset=
for try in 9 5 6 7 8 10 11 12 13; do
    sed "s/OFFSET/$try/" places.lua > placed.lua
    run kprobe-lua placed.lua
    [ "$status" != 0 ] || { offset=$try && break; }
    err "^placed.lua:[0-9]+: can't probe kpl_target:kpl_t_plain\+0x[0-9a-f]+: the address is not the start of an instruction$"
    one_error
done
[ -n "$offset" ] || fail 'no instruction behind the entry'
quiet_err
lines 3 '^name kpl_t_plain \[kpl_target\] [123]$'
lines 2 '^address kpl_t_inner \[kpl_target\] [12]$'
lines 3 '^pre 1$'
lines 3 '^post behind$'
line 'hits	3	3	2	3	7'
line 'post	3	3'
line 'ftrace	int3'
