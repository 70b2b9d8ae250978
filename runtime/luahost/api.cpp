// SPDX-License-Identifier: MIT
// The native functions behind lua/kprobe.lua, one short function each. Arguments were checked by the Lua side.
#include <time.h>

#include <cstring>

#include "base/printable.hpp"
#include "ir/builtins.hpp"
#include "luahost/errors.hpp"
#include "luahost/lua_impl.hpp"
#include "output/cgroups.hpp"

namespace kpl {
namespace {

// ---- reading tables that the Lua side made
std::string string_field(lua_State* L, int table, const char* name) {
    StackGuard guard(L);
    lua_getfield(L, table, name);
    size_t size = 0;
    const char* s = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : nullptr;
    return s ? std::string(s, size) : std::string();
}

std::optional<int64_t> int_field(lua_State* L, int table, const char* name) {
    StackGuard guard(L);
    lua_getfield(L, table, name);
    return to_int(L, lua_gettop(L));
}

bool bool_field(lua_State* L, int table, const char* name) {
    StackGuard guard(L);
    lua_getfield(L, table, name);
    return lua_toboolean(L, -1) != 0;
}

SourceLoc line_of(lua_State* L, int table) {
    return {string_field(L, table, "file"), static_cast<int>(int_field(L, table, "line").value_or(0))};
}

// A number of an option, within what its field can hold.
Result<uint32_t> bounded_field(lua_State* L, int table, const char* name) {
    const auto n = int_field(L, table, name).value_or(0);
    if (n < 0 || n > UINT32_MAX)
        return Error{Errc::script, std::string("'") + name + "' is out of range", line_of(L, table)};
    return static_cast<uint32_t>(n);
}

FunctionPtr function_field(LuaHost::Impl& host, lua_State* L, int table, const char* name) {
    StackGuard guard(L);
    lua_getfield(L, table, name);
    return lua_isfunction(L, -1) ? function_ref(host, L, lua_gettop(L)) : nullptr;
}

CallbackId keep(LuaHost::Impl& host, lua_State* L, int index) {
    lua_pushvalue(L, index);
    return host.keep(L);
}

// ---- declarations
constexpr std::pair<const char*, kpl_map_kind> map_kinds[] = {
#define AGG(id, name, ...) {#name, KPL_MAP_##id},
#include "uapi/aggs.def"
#undef AGG
    {"map", KPL_MAP_HASH},
};

constexpr std::pair<const char*, FieldKind> field_kinds[] = {
    {"int", FieldKind::I64},       {"uint", FieldKind::U64},        {"bool", FieldKind::Bool},
    {"symbol", FieldKind::Symbol}, {"pointer", FieldKind::Pointer}, {"string", FieldKind::String},
};

// map{ key =, value = }, as the Lua side has checked it: a list of { name =, kind =, limit = }.
std::vector<FieldLayout> declared_fields(lua_State* L, int table, const char* name) {
    StackGuard guard(L);
    std::vector<FieldLayout> fields;
    lua_getfield(L, table, name);
    const int list = lua_gettop(L);
    for (int i = 1; lua_istable(L, list) && i <= static_cast<int>(lua_objlen(L, list)); i++) {
        lua_rawgeti(L, list, i);
        const int field = lua_gettop(L);
        FieldLayout f;
        f.name = string_field(L, field, "name");
        for (const auto& [kind, value] : field_kinds)
            if (string_field(L, field, "kind") == kind) f.kind = value;
        if (f.kind == FieldKind::String) f.limit = static_cast<uint32_t>(int_field(L, field, "limit").value_or(0));
        fields.push_back(std::move(f));
        lua_pop(L, 1);
    }
    return fields;
}

int declare_map(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        MapDecl map;
        const std::string kind = string_field(L, 1, "kind");
        for (const auto& [name, value] : map_kinds)
            if (kind == name) map.kind = value;
        map.max = TRY(bounded_field(L, 1, "max"));
        map.lo = int_field(L, 1, "lo").value_or(0);
        map.hi = int_field(L, 1, "hi").value_or(0);
        map.step = int_field(L, 1, "step").value_or(0);
        map.declared_key = declared_fields(L, 1, "key");
        map.declared_value = declared_fields(L, 1, "value");
        map.at = line_of(L, 1);
        push_int(L, TRY(host.api->declare_map(std::move(map))));
        return 1;
    });
}

int declare_event(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        EventDecl event;
        event.at = line_of(L, 1);
        lua_getfield(L, 1, "order");
        for (int i = 1; i <= static_cast<int>(lua_objlen(L, -1)); i++) {
            lua_rawgeti(L, -1, i);
            event.order.emplace_back(lua_tostring(L, -1));
            lua_pop(L, 1);
        }
        push_int(L, TRY(host.api->declare_event(std::move(event))));
        return 1;
    });
}

Result<kpl_when> read_when(lua_State* L, int table) {
    kpl_when when{};
    StackGuard guard(L);
    lua_getfield(L, table, "when");
    const int t = lua_gettop(L);
    struct {
        const char* name;
        uint32_t bit;
        __u32* to;
    } numbers[] = {
        {"pid", KPL_WHEN_PID, &when.pid}, {"tid", KPL_WHEN_TID, &when.tid}, {"cpu", KPL_WHEN_CPU, &when.cpu}};
    for (auto& n : numbers) {
        if (!int_field(L, t, n.name)) continue;
        when.mask |= n.bit;
        *n.to = TRY(bounded_field(L, t, n.name));
    }
    lua_getfield(L, t, "self");
    if (!lua_isnil(L, -1)) when.mask |= KPL_WHEN_OTHERS;
    lua_pop(L, 1);
    auto in_cgroup = [&](uint64_t id) {
        when.mask |= KPL_WHEN_CGROUP;
        when.cgroup = id;
    };
    if (auto cgroup = int_field(L, t, "cgroup")) {
        in_cgroup(static_cast<uint64_t>(*cgroup));
    } else if (const std::string path = string_field(L, t, "cgroup"); !path.empty()) {
        const auto id = Cgroups::id_of(path);
        if (!id) return Error{Errc::script, "when: " + id.error().text, line_of(L, table)};
        in_cgroup(*id);
    }
    if (const std::string comm = string_field(L, t, "comm"); !comm.empty()) {
        if (comm.size() >= sizeof when.comm)
            return Error{Errc::script, "when: comm '" + comm + "' is longer than the 15 bytes that the kernel keeps",
                         line_of(L, table)};
        when.mask |= KPL_WHEN_COMM;
        std::memcpy(when.comm, comm.data(), comm.size());
    }
    return when;
}

Result<void> read_targets(lua_State* L, int table, ProbeDecl& probe) {
    StackGuard guard(L);
    lua_getfield(L, table, "targets");
    const int t = lua_gettop(L);
    for (int i = 1; i <= static_cast<int>(lua_objlen(L, t)); i++) {
        lua_rawgeti(L, t, i);
        if (lua_type(L, -1) == LUA_TSTRING)
            probe.targets.emplace_back(text_argument(L, -1));
        else if (auto address = to_int(L, lua_gettop(L)))
            probe.targets.emplace_back(static_cast<uint64_t>(*address));
        lua_pop(L, 1);
    }
    return {};
}

int declare_probe(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        ProbeDecl probe;
        probe.kind = static_cast<ProbeKind>(int_field(L, 1, "kind").value_or(0));
        probe.at = line_of(L, 1);
        TRY(read_targets(L, 1, probe));
        const ProbeKindRow& kind = probe_kind(probe.kind);
        for (size_t i = 0; i < most_handlers; i++)
            if (kind.handlers[i].option) probe.handlers[i] = function_field(host, L, 1, kind.handlers[i].option);
        probe.when = TRY(read_when(L, 1));
        probe.enabled = bool_field(L, 1, "enabled");
        probe.optional = bool_field(L, 1, "optional");
        probe.budget = TRY(bounded_field(L, 1, "budget"));
        probe.maxactive = TRY(bounded_field(L, 1, "maxactive"));
        if (int_field(L, 1, "data")) probe.data = TRY(bounded_field(L, 1, "data"));
        probe.via = string_field(L, 1, "via");
        probe.every = static_cast<uint64_t>(int_field(L, 1, "every").value_or(0));
        probe.len = TRY(bounded_field(L, 1, "len"));
        probe.reads = string_field(L, 1, "on") == "rw";
        push_int(L, TRY(host.api->declare_probe(std::move(probe))));
        return 1;
    });
}

// ---- probes
int control(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        const std::string name = lua_tostring(L, 1);
        std::vector<uint32_t> ids;
        for (int i = 1; i <= static_cast<int>(lua_objlen(L, 2)); i++) {
            lua_rawgeti(L, 2, i);
            ids.push_back(static_cast<uint32_t>(lua_tonumber(L, -1)));
            lua_pop(L, 1);
        }
        const auto op = name == "enable" ? KPL_CTL_ENABLE : name == "disable" ? KPL_CTL_DISABLE : KPL_CTL_DETACH;
        TRY(host.api->control(ids, op));
        return 0;
    });
}

int state(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        const ProbeStatus status = TRY(host.api->status(static_cast<uint32_t>(lua_tonumber(L, 1))));
        lua_pushlstring(L, status.state.data(), status.state.size());
        return 1;
    });
}

}  // namespace

void push_counts(lua_State* L, const kpl_counts& counts) {
    lua_createtable(L, 0, 10);
    const std::pair<const char*, uint64_t> fields[] = {
        {"hits", counts.hits},         {"handled", counts.handled}, {"skipped", counts.skipped},
        {"missed", counts.missed},     {"faults", counts.faults},   {"errors", counts.errors},
        {"overruns", counts.overruns},
    };
    for (const auto& [name, n] : fields) {
        push_uint(L, n);
        lua_setfield(L, -2, name);
    }
}

namespace {

int stats(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        const ProbeStatus status = TRY(host.api->status(static_cast<uint32_t>(lua_tonumber(L, 1))));
        push_counts(L, status.first);
        push_uint(L, status.truncated);
        lua_setfield(L, -2, "truncated");
        if (status.second_name.empty()) return 1;
        push_counts(L, status.second);
        if (status.follows_calls) {
            push_uint(L, status.outstanding);
            lua_setfield(L, -2, "outstanding");
            push_uint(L, status.dropped);
            lua_setfield(L, -3, "dropped");
        }
        lua_setfield(L, -2, status.second_name.c_str());
        return 1;
    });
}

// ---- time, end, output
int every(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        host.api->every(lua_tonumber(L, 1), keep(host, L, 2));
        return 0;
    });
}

int at_exit(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        host.api->at_exit(keep(host, L, 1));
        return 0;
    });
}

int exit_script(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        host.api->exit(static_cast<int>(lua_tonumber(L, 1)));
        return 0;
    });
}

int write(lua_State* L) {
    size_t size = 0;
    const char* text = luaL_checklstring(L, 1, &size);
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        host.api->write({text, size});
        return 0;
    });
}

// As write(), of the host in `box`, for calls of LuaJIT's FFI: it raises nothing.
void write_directly(void* box, const char* text, size_t size) {
    LuaHost::Impl* const host = *static_cast<LuaHost::Impl**>(box);
    if (host) host->api->write({text, size});
}

// The function and its first argument; nothing: write() is to be called.
int direct_write(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        if (!host.api->writes_directly()) return 0;
        lua_pushlightuserdata(L, reinterpret_cast<void*>(write_directly));
        lua_pushlightuserdata(L, host.box);
        return 2;
    });
}

int emit(lua_State* L) {
    size_t size = 0;
    const char* text = luaL_checklstring(L, 1, &size);
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        host.api->emit({text, size});
        return 0;
    });
}

int in_chunk(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        lua_pushboolean(L, host.in_chunk);
        return 1;
    });
}

// keep(message, alone): an error to be told at the chunk's end.
int keep_error(lua_State* L) {
    size_t size = 0;
    const char* text = luaL_checklstring(L, 1, &size);
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        host.kept.text += (host.kept.text.empty() ? "" : "\n") + printable(std::string(text, size), "\n\t");
        host.kept.alone &= lua_toboolean(L, 2) != 0;
        return 0;
    });
}

int now(lua_State* L) {
    timespec ts{};
    ::clock_gettime(CLOCK_MONOTONIC, &ts);
    push_int(L, int64_t{ts.tv_sec} * 1000000000 + ts.tv_nsec);
    return 1;
}

constexpr luaL_Reg functions[] = {
    {"map", declare_map},
    {"event", declare_event},
    {"probe", declare_probe},
    {"control", control},
    {"state", state},
    {"stats", stats},
    {"emit", emit},
    {"layout", record_layout},
    {"symbol", symbol_name},
    {"frame", frame_name},
    {"batch_room", batch_room},
    {"subscriptions", count_subscriptions},
    {"traceback", traceback_handler},
    {"named", named_number},
    {"inet", inet_name},
    {"user_name", user_name},
    {"every", every},
    {"at_exit", at_exit},
    {"exit", exit_script},
    {"write", write},
    {"direct_write", direct_write},
    {"now", now},
    {"in_chunk", in_chunk},
    {"keep", keep_error},
    {"probes", list_probes},
    {"blacklist", list_blacklist},
    {"functions", list_functions},
    {"instructions", list_instructions},
    {"medium", medium},
    {"has_function", has_function},
    {"has_field", has_field},
    {"emit_row", emit_row},
    {"ask", prompt_ask},
    {"declared", prompt_declared},
    {"describe", prompt_describe},
    {nullptr, nullptr},
};

// What lua/kprobe.lua needs to know of each kind; `number` is what declare_probe takes.
void push_probe_kinds(lua_State* L) {
    lua_newtable(L);
    for (size_t i = 0; i < std::size(probe_kinds); i++) {
        const ProbeKindRow& kind = probe_kinds[i];
        lua_createtable(L, 0, 7);
        lua_pushstring(L, kind.name);
        lua_setfield(L, -2, "name");
        push_uint(L, i);
        lua_setfield(L, -2, "number");
        lua_pushstring(L, kind.handlers[kind.plain].option);
        lua_setfield(L, -2, "plain");
        lua_pushboolean(L, kind.follows_calls);
        lua_setfield(L, -2, "follows_calls");
        lua_pushboolean(L, kind.by_ftrace);
        lua_setfield(L, -2, "by_ftrace");
        lua_pushboolean(L, kind.by_direct);
        lua_setfield(L, -2, "by_direct");
        lua_pushboolean(L, kind.source == Source::Function);
        lua_setfield(L, -2, "at_functions");
        lua_pushstring(L, target_forms[static_cast<size_t>(kind.source)]);
        lua_setfield(L, -2, "target_forms");
        lua_newtable(L);
        int n = 0;
        for (const ProbeHandler& handler : kind.handlers) {
            if (!handler.option) continue;
            lua_pushstring(L, handler.option);
            lua_rawseti(L, -2, ++n);
        }
        lua_setfield(L, -2, "handlers");
        lua_rawseti(L, -2, static_cast<int>(i + 1));
    }
}

}  // namespace

std::string script_line(lua_State* L) {
    lua_Debug info{};
    for (int level = 0; lua_getstack(L, level, &info); level++) {
        lua_getinfo(L, "Sl", &info);
        if (info.currentline <= 0 || std::strcmp(info.source, "=kprobe") == 0) continue;
        return std::string(info.short_src) + ":" + std::to_string(info.currentline) + ": ";
    }
    return {};
}

void push_core(lua_State* L) {
    lua_newtable(L);
    for (const luaL_Reg* list : {functions, map_functions}) {
        for (const luaL_Reg* f = list; f->name; f++) {
            lua_pushvalue(L, -2);
            lua_pushcclosure(L, f->func, 1);
            lua_setfield(L, -2, f->name);
        }
    }
    // The aggregations whose constructors take options alone.
    lua_newtable(L);
    int n = 0;
    for (const kpl_agg_desc& agg : kpl_agg_descs) {
        if (agg.slots == KPL_SLOTS_STEPS) continue;
        lua_pushstring(L, agg.name);
        lua_rawseti(L, -2, ++n);
    }
    lua_setfield(L, -2, "aggregations");
    push_probe_kinds(L);
    lua_setfield(L, -2, "probe_kinds");
    lua_newtable(L);
    n = 0;
    for (const std::string_view name : handler_functions()) {
        lua_pushlstring(L, name.data(), name.size());
        lua_rawseti(L, -2, ++n);
    }
    lua_setfield(L, -2, "handler_functions");
}

}  // namespace kpl
