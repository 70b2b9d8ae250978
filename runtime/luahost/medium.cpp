// SPDX-License-Identifier: MIT
// What scripts that are tools ask for: where their text goes, rows of JSON, what the kernel has.
#include "base/json_line.hpp"
#include "luahost/lua_impl.hpp"

namespace kpl {
namespace {

// Integers that a double can't hold are strings, as everywhere in JSON output.
constexpr int most_depth = 16;  // of lists in lists

Result<Json> json_value(lua_State* L, int index, int depth = 0) {
    if (depth > most_depth || !lua_checkstack(L, 2))
        return Error{Errc::script, "emit_row: a list may stand in 16 others at most"};
    switch (lua_type(L, index)) {
        case LUA_TBOOLEAN: return Json(lua_toboolean(L, index) != 0);
        case LUA_TSTRING: return Json(text_argument(L, index));
        case LUA_TTABLE: {
            Json list = Json::array();
            for (int i = 1; i <= static_cast<int>(lua_objlen(L, index)); i++) {
                lua_rawgeti(L, index, i);
                list.push_back(TRY(json_value(L, lua_gettop(L), depth + 1)));
                lua_pop(L, 1);
            }
            return list;
        }
        case LUA_TNUMBER:
            if (const auto n = to_int(L, index)) return Json(*n);
            return Json(lua_tonumber(L, index));
        default: break;
    }
    if (const auto n = to_int(L, index))
        return Json(cdata_kind(L, index) == "uint64" ? std::to_string(static_cast<uint64_t>(*n)) : std::to_string(*n));
    return Json(nullptr);
}

}  // namespace

int medium(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        const Medium medium = host.api->medium();
        lua_createtable(L, 0, 3);
        lua_pushlstring(L, medium.format.data(), medium.format.size());
        lua_setfield(L, -2, "format");
        if (medium.rows == 0) return 1;
        lua_pushinteger(L, medium.rows);
        lua_setfield(L, -2, "rows");
        lua_pushinteger(L, medium.columns);
        lua_setfield(L, -2, "columns");
        return 1;
    });
}

// emit_row(type, names, values)
int emit_row(lua_State* L) {
    luaL_checktype(L, 2, LUA_TTABLE);
    luaL_checktype(L, 3, LUA_TTABLE);
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        Json data = Json::object();
        for (int i = 1; i <= static_cast<int>(lua_objlen(L, 2)); i++) {
            lua_rawgeti(L, 2, i);
            lua_rawgeti(L, 3, i);
            if (!lua_isnil(L, -1))
                data[json_name(text_argument(L, lua_gettop(L) - 1))] = TRY(json_value(L, lua_gettop(L)));
            lua_pop(L, 2);
        }
        host.api->emit(json_line(text_argument(L, 1).c_str(), std::move(data)));
        return 0;
    });
}

int has_function(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        lua_pushboolean(L, TRY(host.api->has_function(text_argument(L, 1))));
        return 1;
    });
}

int has_field(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        lua_pushboolean(L, TRY(host.api->has_field(text_argument(L, 1), text_argument(L, 2))));
        return 1;
    });
}

}  // namespace kpl
