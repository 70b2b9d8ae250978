# SPDX-License-Identifier: MIT
# Private data: 4,096 bytes fit, more do not, declared or by what handlers keep.
script fits.lua <<'LUA'
kretprobe { "vfs_read", data = 4096, entry = function(p) p.data.a = 1 end, ret = function(p) printf("%d\n", p.data.a) end }
LUA
run kprobe-lua -c 'head -c 1 /dev/zero > /dev/null' fits.lua
status 0
out '^1$'
script declared.lua <<'LUA'
kretprobe { "vfs_read", data = 4097, entry = function(p) p.data.a = 1 end, ret = function(p) end }
LUA
run kprobe-lua declared.lua
status 1
one_error
err "^declared.lua:1: .*'data' must be a number of bytes up to 4,096$"
# 4,072 bytes of text with its length, and 16 bytes of numbers: just what fits; 8 more do not
script kept.lua <<'LUA'
kretprobe { "vfs_read",
  entry = function(p) p.data.s = ustr(p.arg[2], 4072) p.data.a = 1 p.data.b = 2 end,
  ret = function(p) printf("%d %d\n", p.data.a + p.data.b, #p.data.s) end }
LUA
run kprobe-lua --check kept.lua
status 0
sed 's/p.data.b = 2/p.data.b = 2 p.data.c = 3/' kept.lua > over.lua
run kprobe-lua --check over.lua
status 1
err '4,?096'
