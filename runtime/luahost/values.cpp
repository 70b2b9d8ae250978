// SPDX-License-Identifier: MIT
// Values between C++ and Lua.
#include <cmath>
#include <cstring>
#include <optional>

#include "luahost/lua_impl.hpp"

namespace kpl {
namespace {

constexpr int lua_tcdata = 10;               // LuaJIT's type number of cdata, absent from its header
constexpr int64_t exact = int64_t{1} << 53;  // below it, a double holds every integer

void push_cdata(lua_State* L, const char* maker, uint64_t bits) {
    lua_getfield(L, LUA_REGISTRYINDEX, maker);
    lua_pushnumber(L, static_cast<double>(bits >> 32));
    lua_pushnumber(L, static_cast<double>(bits & 0xffffffff));
    lua_call(L, 2, 1);
}

}  // namespace

void push_int(lua_State* L, int64_t value) {
    if (value > -exact && value < exact)
        lua_pushnumber(L, static_cast<double>(value));
    else
        push_cdata(L, reg::int64, static_cast<uint64_t>(value));
}

void push_uint(lua_State* L, uint64_t value) {
    if (value < static_cast<uint64_t>(exact))
        lua_pushnumber(L, static_cast<double>(value));
    else
        push_cdata(L, reg::uint64, value);
}

void push_datum(lua_State* L, const Datum& datum) {
    struct Visitor {
        lua_State* L;
        void operator()(const Nil&) const { lua_pushnil(L); }
        void operator()(bool b) const { lua_pushboolean(L, b); }
        void operator()(int64_t n) const { push_int(L, n); }
        void operator()(uint64_t n) const { push_uint(L, n); }
        void operator()(const std::string& s) const { lua_pushlstring(L, s.data(), s.size()); }
        void operator()(const SymbolDatum& s) const { (*this)(s.text); }
        void operator()(const PointerDatum& p) const { (*this)(to_text(Datum{p})); }
        void operator()(const StackDatum& stack) const {
            lua_createtable(L, static_cast<int>(stack.frames.size()), 0);
            for (size_t i = 0; i < stack.frames.size(); i++) {
                (*this)(stack.frames[i].text);
                lua_rawseti(L, -2, static_cast<int>(i + 1));
            }
            lua_getfield(L, LUA_REGISTRYINDEX, reg::stack_class);
            lua_setmetatable(L, -2);
        }
        void operator()(const ListDatum& list) const {
            lua_createtable(L, static_cast<int>(list.elements.size()), 0);
            for (size_t i = 0; i < list.elements.size(); i++) {
                std::visit(*this, list.elements[i]);
                lua_rawseti(L, -2, static_cast<int>(i + 1));
            }
        }
    };
    std::visit(Visitor{L}, datum);
}

std::string cdata_kind(lua_State* L, int index) {
    StackGuard guard(L);
    lua_pushvalue(L, index);
    lua_getfield(L, LUA_REGISTRYINDEX, reg::cdata_kind);
    lua_insert(L, -2);
    if (lua_pcall(L, 1, 1, 0) != 0 || !lua_isstring(L, -1)) return "cdata";
    return lua_tostring(L, -1);
}

std::string text_argument(lua_State* L, int index) {
    size_t size = 0;
    const char* text = lua_type(L, index) == LUA_TSTRING ? lua_tolstring(L, index, &size) : "";
    return {text, size};
}

std::optional<int64_t> to_int(lua_State* L, int index) {
    if (lua_type(L, index) == LUA_TNUMBER) {
        const double d = lua_tonumber(L, index);
        if (d != std::floor(d) || std::fabs(d) > static_cast<double>(exact)) return std::nullopt;
        return static_cast<int64_t>(d);
    }
    if (lua_type(L, index) != lua_tcdata) return std::nullopt;
    const std::string kind = cdata_kind(L, index);
    if (kind != "int64" && kind != "uint64") return std::nullopt;
    int64_t value;
    std::memcpy(&value, lua_topointer(L, index), sizeof value);
    return value;
}

Result<Datum> to_datum(lua_State* L, int index) {
    switch (lua_type(L, index)) {
        case LUA_TNIL: return Datum{Nil{}};
        case LUA_TBOOLEAN: return Datum{lua_toboolean(L, index) != 0};
        case LUA_TSTRING: {
            size_t size = 0;
            const char* s = lua_tolstring(L, index, &size);
            return Datum{std::string(s, size)};
        }
        default:
            if (auto n = to_int(L, index)) return Datum{*n};
            return Error{Errc::script,
                         std::string("a key is a string, an integer or a boolean, not ") +
                             (lua_type(L, index) == LUA_TNUMBER ? "a fraction" : lua_typename(L, lua_type(L, index)))};
    }
}

}  // namespace kpl
