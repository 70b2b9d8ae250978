// SPDX-License-Identifier: MIT
// Native functions on aggregations and maps, for lua/kprobe.lua. Each takes the map's number first.
#include "luahost/lua_impl.hpp"

namespace kpl {
namespace {

Result<std::vector<Datum>> key_elements(lua_State* L, int table) {
    StackGuard guard(L);
    std::vector<Datum> key;
    for (int i = 1; i <= static_cast<int>(lua_objlen(L, table)); i++) {
        lua_rawgeti(L, table, i);
        key.push_back(TRY(to_datum(L, lua_gettop(L))));
        lua_pop(L, 1);
    }
    return key;
}

void push_agg_value(lua_State* L, const MapDecl& map, const AggValue& v) {
    if (const auto number = v.number(kpl_agg_descs[map.kind])) {
        if (const auto* n = std::get_if<uint64_t>(&*number)) return push_uint(L, *n);
        return push_int(L, std::get<int64_t>(*number));
    }
    lua_createtable(L, static_cast<int>(v.slots.size()), 5);
    push_uint(L, v.n);
    lua_setfield(L, -2, "count");
    if (!is_histogram(map)) {
        const std::pair<const char*, int64_t> fields[] = {
            {"sum", v.sum}, {"min", v.min}, {"max", v.max}, {"avg", v.average()}};
        for (const auto& [name, n] : fields) {
            push_int(L, n);
            lua_setfield(L, -2, name);
        }
    }
    for (size_t i = 0; i < v.slots.size(); i++) {
        push_uint(L, v.slots[i]);
        lua_rawseti(L, -2, static_cast<int>(i + 1));
    }
}

void push_key(lua_State* L, const MapDecl& map, const std::vector<Datum>& key) {
    if (!map.tuple_key && key.size() == 1) return push_datum(L, key[0]);
    lua_createtable(L, static_cast<int>(key.size()), 0);
    for (size_t i = 0; i < key.size(); i++) {
        push_datum(L, key[i]);
        lua_rawseti(L, -2, static_cast<int>(i + 1));
    }
}

uint32_t map_id(lua_State* L) { return static_cast<uint32_t>(lua_tonumber(L, 1)); }

void push_rows(lua_State* L, const MapDecl& map, const std::vector<KeyedValue>& rows) {
    lua_createtable(L, static_cast<int>(rows.size()), 0);
    for (size_t i = 0; i < rows.size(); i++) {
        lua_createtable(L, 0, 3);
        push_key(L, map, rows[i].key);
        lua_setfield(L, -2, "key");
        push_agg_value(L, map, rows[i].value);
        lua_setfield(L, -2, "value");
        lua_pushnumber(L, weight(map, rows[i].value));
        lua_setfield(L, -2, "weight");
        lua_rawseti(L, -2, static_cast<int>(i + 1));
    }
}

int rows(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        const std::vector<KeyedValue> rows = TRY(host.api->rows(map_id(L)));
        push_rows(L, host.api->map(map_id(L)), rows);
        return 1;
    });
}

void push_string(lua_State* L, const std::string& text) { lua_pushlstring(L, text.data(), text.size()); }

// The rows, their text, and what print() writes of them.
int take(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        std::vector<KeyedValue> rows = TRY(host.api->take(map_id(L)));
        push_rows(L, host.api->map(map_id(L)), rows);
        push_string(L, host.api->text_of(map_id(L), rows));
        push_string(L, host.api->output_of(map_id(L), std::move(rows)));
        return 3;
    });
}

int entries_output(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        const auto output = TRY(host.api->entries_output(map_id(L)));
        if (!output) return 0;
        push_string(L, *output);
        return 1;
    });
}

int output(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        push_string(L, host.api->output_of(map_id(L), TRY(host.api->rows(map_id(L)))));
        return 1;
    });
}

int value(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        const AggValue v = TRY(host.api->value(map_id(L), TRY(key_elements(L, 2))));
        push_agg_value(L, host.api->map(map_id(L)), v);
        return 1;
    });
}

// Of a key that was never updated.
int no_value(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        push_agg_value(L, host.api->map(map_id(L)), {});
        return 1;
    });
}

// A value of map(): a table of its fields, or the one value that has no name.
void push_map_value(lua_State* L, const MapDecl& map, const std::vector<Datum>& value) {
    if (!map.struct_value) return value.empty() ? lua_pushnil(L) : push_datum(L, value[0]);
    lua_createtable(L, 0, static_cast<int>(value.size()));
    for (size_t i = 0; i < value.size(); i++) {
        push_datum(L, value[i]);
        lua_setfield(L, -2, map.value.fields[i].name.c_str());
    }
}

int entries(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        const std::vector<MapEntry> entries = TRY(host.api->entries(map_id(L)));
        const MapDecl& map = host.api->map(map_id(L));
        lua_createtable(L, static_cast<int>(entries.size()), 0);
        for (size_t i = 0; i < entries.size(); i++) {
            lua_createtable(L, 0, 2);
            push_key(L, map, entries[i].key);
            lua_setfield(L, -2, "key");
            push_map_value(L, map, entries[i].value);
            lua_setfield(L, -2, "value");
            lua_rawseti(L, -2, static_cast<int>(i + 1));
        }
        return 1;
    });
}

int get(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        const auto value = TRY(host.api->get(map_id(L), TRY(key_elements(L, 2))));
        if (value)
            push_map_value(L, host.api->map(map_id(L)), *value);
        else
            lua_pushnil(L);
        return 1;
    });
}

Result<NamedValues> named_values(lua_State* L, int index) {
    NamedValues values;
    if (!lua_istable(L, index)) {
        values.emplace_back("", TRY(to_datum(L, index)));
        return values;
    }
    lua_pushnil(L);
    while (lua_next(L, index)) {
        if (lua_type(L, -2) != LUA_TSTRING) return Error{Errc::script, "a struct value has named fields: { at = 1 }"};
        values.emplace_back(lua_tostring(L, -2), TRY(to_datum(L, lua_gettop(L))));
        lua_pop(L, 1);
    }
    return values;
}

int set(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        TRY(host.api->set(map_id(L), TRY(key_elements(L, 2)), TRY(named_values(L, 3))));
        return 0;
    });
}

int erase(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        lua_pushboolean(L, TRY(host.api->erase(map_id(L), TRY(key_elements(L, 2)))));
        return 1;
    });
}

int clear(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        TRY(host.api->clear(map_id(L)));
        return 0;
    });
}

int text(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        const std::string text = TRY(host.api->text(map_id(L)));
        lua_pushlstring(L, text.data(), text.size());
        return 1;
    });
}

constexpr luaL_Reg on_maps[] = {
    {"rows", rows},
    {"value", value},
    {"no_value", no_value},
    {"clear", clear},
    {"take", take},
    {"output", output},
    {"entries_output", entries_output},
    {"text", text},
    {"entries", entries},
    {"get", get},
    {"set", set},
    {"erase", erase},
    {nullptr, nullptr},
};

}  // namespace

const luaL_Reg* const map_functions = on_maps;

}  // namespace kpl
