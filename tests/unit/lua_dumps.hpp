// SPDX-License-Identifier: MIT
// LuaJIT in a test: runs code, dumps functions, and tells its opcode numbers.
#pragma once

#include <catch2/catch.hpp>
#include <lua.hpp>
#include <string>

#include "bytecode/proto.hpp"

namespace kpl {

class Lua {
  public:
    Lua() : state_(luaL_newstate()) { luaL_openlibs(state_); }
    ~Lua() { lua_close(state_); }
    Lua(const Lua&) = delete;
    Lua& operator=(const Lua&) = delete;

    // Runs `code` with string arguments; its result is a string.
    std::string run(const std::string& code, std::initializer_list<std::string> args = {}) {
        if (luaL_loadbuffer(state_, code.data(), code.size(), "=driver")) fail();
        for (const std::string& arg : args) lua_pushlstring(state_, arg.data(), arg.size());
        if (lua_pcall(state_, static_cast<int>(args.size()), 1, 0)) fail();
        size_t length = 0;
        const char* text = lua_tolstring(state_, -1, &length);
        std::string result(text ? text : "", length);
        lua_pop(state_, 1);
        return result;
    }

  private:
    void fail() {
        std::string text = lua_tostring(state_, -1);
        lua_pop(state_, 1);
        FAIL(text);
    }
    lua_State* state_;
};

inline const OpcodeMap& host_ops() {
    static const OpcodeMap ops = [] {
        Lua lua;
        auto map = OpcodeMap::from_vmdef(lua.run("return require('jit.vmdef').bcnames"));
        REQUIRE(map.ok());
        return *map;
    }();
    return ops;
}

inline std::string dump_of(Lua& lua, const std::string& source, const std::string& chunk = "@test.lua") {
    return lua.run("return string.dump(assert(loadstring(...)))", {source, chunk});
}

inline Result<std::shared_ptr<const Proto>> read(const std::string& dump) {
    return read_dump({reinterpret_cast<const uint8_t*>(dump.data()), dump.size()}, host_ops());
}

// Small programs that together use every form of constant and most opcodes.
inline const char* const sources[] = {
    "",
    "return 1",
    "local a, b = 1, 2 return a + b, a - 3, 4 - b, a * b, a / 7, a % 2, a ^ b, -a, not b, #'x' .. a",
    "local t = {1, nil, 3, [0] = 0, x = 1, y = 2.5, [true] = false, s = 'str', [1e300] = -1} return t",
    "local t = {...} t[1] = 2 t[300] = 3 t.x = t.y t[t] = t return {f(), g()}",
    "return 1LL, -2LL, 0xffffffffffffffffULL, 9223372036854775807LL, 3i, 2.5i",
    "return 0x7fffffff, 0x80000000, -0x80000000, 1e15, 0.1, 1/0, -1/0, 3e-320, 4294967296, -5, -1.5",
    "local a = 32767 local b = -32768 local c = 32768 local d = -32769 local e = -1 return a, b, c, d, e",
    "for i = 1, 10 do print(i) end for k, v in pairs(t) do k(v) end for x in y do z(x) end",
    "while a do if b then break end end repeat local x = f() until x goto e do g() end ::e::",
    "local u, w = 1, 2 w = 3 function F() u2 = function() return u + w end return u end local function g() w "
    "= nil w = 4 w = 'x' w = u end",
    "local function f(...) return select('#', ...), ... end return f(f(1, 2, 3))",
    "return a and b or c, a == 1, a ~= 'x', a == nil, a ~= false, a < b, a >= b, not (a <= b)",
    "local s = 'zero\\0byte \\255 \"quoted\" \\n' return s .. s .. 1 .. s",
    "if false then dead() end while false do dead() end return",
};

}  // namespace kpl
