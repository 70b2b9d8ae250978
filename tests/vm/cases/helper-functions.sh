# SPDX-License-Identifier: MIT
# Functions that a handler calls, wherever they are kept, may use the probed function's arguments by name; of those that
# don't, a handler is compiled once for all places.
opens() { # SCRIPT
    script opens.lua
    run kprobe-lua -c 'grep -q root /etc/passwd' opens.lua
    status 0
    line /etc/passwd
}
opens <<'LUA'
local function name(p) return p.args.filename end
local function show(p) printf("%s\n", ustr(name(p))) end
kprobe { "do_sys_openat2", pre = function(p) show(p) end }
LUA
opens <<'LUA'
lib = { files = { show = function(p) printf("%s\n", ustr(p.args.filename)) end } }
kprobe { "do_sys_openat2", pre = function(p) lib.files.show(p) end }
LUA
opens <<'LUA'
local lib, first = { function(p) printf("%s\n", ustr(p.args.filename)) end }, 1
kprobe { "do_sys_openat2", pre = function(p) lib[first](p) end }
LUA
opens <<'LUA'
local lib = { [70000] = function(p) printf("%s\n", ustr(p.args.filename)) end }
kprobe { "do_sys_openat2", pre = function(p) lib[70000](p) end }
LUA
opens <<'LUA'
local lib, chosen = { show = function(p) printf("%s\n", ustr(p.args.filename)) end }, { name = "show" }
kprobe { "do_sys_openat2", pre = function(p) lib[chosen.name](p) end }
LUA
opens <<'LUA'
kprobe { "do_sys_openat2", pre = function(p)
  local function name() return p.args.filename end
  printf("%s\n", ustr(name()))
end }
LUA

script once.lua <<'LUA'
local calls = count()
local lib = { add = function(where, value) calls[where]:add(value ~= 0 and 1 or 2) end }
function lib.one(p) lib.add(p.func, p.arg[1]) end
function lib.returned(p) lib.add(p.func, p.ret) end
kprobe { { "vfs_read", "vfs_unlink" }, pre = function(p) lib.one(p) end }
kretprobe { { "vfs_read", "vfs_unlink" }, ret = function(p) lib.returned(p) end }
LUA
run kprobe-lua -d bc -c true once.lua
status 0
lines 1 '^-- once.lua:5 pre of vfs_.*: LuaJIT bytecode'
lines 2 '^-- once.lua:6 ret of vfs_.*: LuaJIT bytecode'
