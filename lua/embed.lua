-- SPDX-License-Identifier: MIT
-- usage: luajit embed.lua NAME IN OUT
-- Writes a Lua file as a C++ constant, `NAME_side`: its source, its bytecode, and the LuaJIT that the bytecode is for.
local name, source_file, out_file = arg[1], arg[2], arg[3]
local source = assert(io.open(source_file, "rb")):read "*a"
local code = string.dump(assert(loadstring(source, "=kprobe")))

local out = assert(io.open(out_file, "wb"))
local function array(of, bytes)
  out:write("const unsigned char ", name, "_", of, "[] = {\n")
  for i = 1, #bytes, 20 do out:write(table.concat({ bytes:byte(i, i + 19) }, ","), ",\n") end
  out:write "};\n"
end
array("source", source)
array("bytecode", code)
out:write(("const LuaSide %s_side{%s_source, %s_bytecode, %q};\n"):format(
  name, name, name, jit.version .. require "jit.vmdef".bcnames))
assert(out:close())
