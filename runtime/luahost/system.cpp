// SPDX-License-Identifier: MIT
// The system's view of probes, for scripts: probes(), blacklist(), functions(), instructions(). Each reads
// anew.
#include "inspect/functions.hpp"
#include "inspect/inspector.hpp"
#include "inspect/print_function.hpp"
#include "inspect/system_probes.hpp"
#include "luahost/lua_impl.hpp"
#include "symbols/glob.hpp"

namespace kpl {
namespace {

void set(lua_State* L, const char* key, const std::string& value) {
    lua_pushlstring(L, value.data(), value.size());
    lua_setfield(L, -2, key);
}

void set(lua_State* L, const char* key, uint64_t value) {
    push_uint(L, value);
    lua_setfield(L, -2, key);
}

// KEY is true or false, KEY_why the reason.
void set(lua_State* L, const char* key, const Verdict& verdict, uint64_t function) {
    lua_pushboolean(L, verdict.yes());
    lua_setfield(L, -2, key);
    if (!verdict.yes()) set(L, (std::string(key) + "_why").c_str(), text_of(verdict, function));
}

// The table on the stack becomes the next element of the list below it.
void append(lua_State* L) { lua_rawseti(L, -2, static_cast<int>(lua_objlen(L, -2)) + 1); }

std::string pattern_argument(lua_State* L) {
    size_t size = 0;
    const char* text = lua_tolstring(L, 1, &size);
    return text ? std::string(text, size) : "*";
}

}  // namespace

int list_probes(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl&) -> Result<int> {
        Kallsyms symbols;
        Types types;
        const auto probes = TRY(system_probes(symbols, types));
        lua_newtable(L);
        for (const SystemProbe& probe : probes) {
            lua_createtable(L, 0, 7);
            set(L, "address", probe.addr);
            set(L, "kind", probe.kind);
            set(L, "place", probe.place);
            set(L, "state", probe.state);
            if (!probe.owner.empty()) set(L, "owner", probe.owner);
            if (probe.missed) set(L, "missed", *probe.missed);
            lua_newtable(L);
            for (const int pid : probe.pids) {
                lua_pushinteger(L, pid);
                append(L);
            }
            lua_setfield(L, -2, "pids");
            append(L);
        }
        return 1;
    });
}

int list_blacklist(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl&) -> Result<int> {
        const Blacklist blacklist = TRY(Blacklist::read());
        const std::string pattern = pattern_argument(L);
        lua_newtable(L);
        for (const BlacklistRange& range : blacklist.ranges()) {
            if (!glob_match(pattern, range.name)) continue;
            lua_createtable(L, 0, 3);
            set(L, "name", range.name);
            set(L, "address", range.begin);
            set(L, "size", range.end - range.begin);
            append(L);
        }
        return 1;
    });
}

int list_functions(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl&) -> Result<int> {
        Kallsyms symbols;
        const auto functions = TRY(probeable_functions(symbols, pattern_argument(L)));
        lua_newtable(L);
        std::string last;
        for (const Symbol& symbol : functions) {
            const std::string name = target_name(symbol);
            if (name == last) continue;  // several static functions of one name
            lua_pushlstring(L, name.data(), name.size());
            append(L);
            last = name;
        }
        return 1;
    });
}

int list_instructions(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl&) -> Result<int> {
        Kallsyms symbols;
        Types types;
        Inspector inspector = TRY(Inspector::open(symbols, types));
        const FunctionView view = TRY(inspector.function(pattern_argument(L)));
        const auto insns = TRY(native_code(view));
        const uint64_t begin = view.symbol.addr;
        lua_newtable(L);
        for (size_t i = 0; i < view.points.size(); i++) {
            const ProbePoint& point = view.points[i];
            lua_createtable(L, 0, 8);
            set(L, "offset", point.addr - begin);
            set(L, "text", insns[i].text);
            lua_pushboolean(L, point.ftrace);
            lua_setfield(L, -2, "ftrace");
            set(L, "probe", point.probe, begin);
            set(L, "boost", point.boost, begin);
            set(L, "optimize", point.optimize, begin);
            if (point.moved) set(L, "stands_at", *point.moved - begin);
            append(L);
        }
        return 1;
    });
}

}  // namespace kpl
