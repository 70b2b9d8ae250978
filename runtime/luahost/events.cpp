// SPDX-License-Identifier: MIT
// What lua/events.lua needs of the session: layouts of records and names of addresses.
#include <algorithm>
#include <cstring>

#include "device/rings.hpp"
#include "luahost/errors.hpp"
#include "luahost/lua_impl.hpp"

namespace kpl {
namespace {

// The names of lua/events.lua's decoders.
const char* decoder_of(FieldKind kind) {
    switch (kind) {
        case FieldKind::I64: return "integer";
        case FieldKind::U64: return "unsigned";
        case FieldKind::Bool: return "boolean";
        case FieldKind::Pointer: return "pointer";
        case FieldKind::Symbol: return "symbol";
        case FieldKind::String: return "string";
        case FieldKind::Kstack: return "stack";
        case FieldKind::Ustack: return "ustack";
        case FieldKind::UserSymbol: return "usym";
        case FieldKind::List: return "list";
        case FieldKind::Named: return "named";
        case FieldKind::Inet: return "inet";
    }
    return nullptr;
}

void push_field(lua_State* L, const FieldLayout& field) {
    lua_createtable(L, 0, 5);
    lua_pushlstring(L, field.name.data(), field.name.size());
    lua_setfield(L, -2, "name");
    lua_pushstring(L, decoder_of(field.kind));
    lua_setfield(L, -2, "kind");
    lua_pushstring(L, decoder_of(field.element));
    lua_setfield(L, -2, "element");
    lua_pushnumber(L, field.offset);
    lua_setfield(L, -2, "offset");
    lua_pushboolean(L, field.nilable);
    lua_setfield(L, -2, "nilable");
}

uint64_t address(lua_State* L) {
    return static_cast<uint64_t>(lua_tonumber(L, 1)) << 32 | static_cast<uint64_t>(lua_tonumber(L, 2));
}

int push_name(lua_State* L, const std::string& name) {
    lua_pushlstring(L, name.data(), name.size());
    return 1;
}

}  // namespace

int record_layout(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        const Layout& layout = host.api->record_layout(static_cast<uint32_t>(lua_tonumber(L, 1)));
        lua_createtable(L, 0, 2);
        lua_createtable(L, static_cast<int>(layout.fields.size()), 0);
        for (size_t i = 0; i < layout.fields.size(); i++) {
            push_field(L, layout.fields[i]);
            lua_rawseti(L, -2, static_cast<int>(i + 1));
        }
        lua_setfield(L, -2, "fields");
        if (layout.presence_offset >= 0) {
            lua_pushnumber(L, layout.presence_offset);
            lua_setfield(L, -2, "presence");
        }
        return 1;
    });
}

// What lies in a module, in generated code or nowhere has another name when others come there.
int push_kernel_name(lua_State* L, const std::string& name) {
    push_name(L, name);
    lua_pushboolean(L, name.ends_with(']') || name.starts_with("0x"));
    return 2;
}

// (high, low half of an address) → its name, bare at the symbol's start, and whether that may change.
int symbol_name(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        return push_kernel_name(L, host.api->decoder().symbol(address(L)).text);
    });
}

int frame_name(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        return push_kernel_name(L, host.api->decoder().frame(address(L)).text);
    });
}

// (the space, the address: 16 bytes) → the name there.
int user_name(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        size_t size = 0;
        const char* bytes = lua_tolstring(L, 1, &size);
        uint64_t words[2] = {};
        std::memcpy(words, bytes, std::min(size, sizeof words));
        return push_name(L, host.api->decoder().user_symbol(words[0], words[1]).text);
    });
}

// (event, number of the field, high, low half of a number) → what it prints as, whether that may change: a cgroup that
// is not found yet.
int named_number(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        const Layout& layout = host.api->record_layout(static_cast<uint32_t>(lua_tonumber(L, 1)));
        const FieldLayout& field = layout.fields[static_cast<size_t>(lua_tonumber(L, 2)) - 1];
        const uint64_t word =
            static_cast<uint64_t>(lua_tonumber(L, 3)) << 32 | static_cast<uint64_t>(lua_tonumber(L, 4));
        const std::string name = host.api->decoder().named(*field.naming, word);
        push_name(L, name);
        lua_pushboolean(L, field.naming->what == Naming::What::Cgroup && name == std::to_string(word));
        return 2;
    });
}

// (its bytes) → an internet address as text.
int inet_name(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl&) -> Result<int> {
        size_t size = 0;
        const char* bytes = lua_tolstring(L, 1, &size);
        return push_name(L, inet_text({reinterpret_cast<const uint8_t*>(bytes), size}));
    });
}

// (how many callbacks events have been given)
int count_subscriptions(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        host.subscriptions = static_cast<size_t>(lua_tonumber(L, 1));
        return 0;
    });
}

int batch_room(lua_State* L) {
    lua_pushnumber(L, RecordBatch::room);
    return 1;
}

// Calls a function of lua/events.lua that must come to its end, and can be called again if it has not: a hook, which ^C
// sets at any moment to raise an error, waits.
template <class Push>
void call_whole(const LuaHost::Impl& impl, const char* function, Push&& push_argument) {
    constexpr int most_tries = 3;
    lua_State* L = impl.L;
    lua_Hook hook = nullptr;
    int mask = 0, count = 0;
    bool done = false;
    for (int i = 0; i < most_tries && !done; i++) {
        if (lua_gethook(L)) hook = lua_gethook(L), mask = lua_gethookmask(L), count = lua_gethookcount(L);
        lua_sethook(L, nullptr, 0, 0);
        const StackGuard guard(L);
        impl.push(L, function);
        push_argument(L);
        done = lua_pcall(L, 1, 0, 0) == 0;
    }
    if (hook) lua_sethook(L, hook, mask, count);
}

void LuaHost::attach(RecordBatch& batch) {
    call_whole(*impl_, reg::attach, [&](lua_State* L) { lua_pushlightuserdata(L, &batch); });
}

size_t LuaHost::subscriptions() const { return impl_->subscriptions; }

void LuaHost::unsubscribe(size_t keep) {
    call_whole(*impl_, reg::unsubscribe, [&](lua_State* L) { lua_pushnumber(L, static_cast<lua_Number>(keep)); });
}

void LuaHost::forget_layouts() {
    call_whole(*impl_, reg::forget_layouts, [](lua_State* L) { lua_pushnil(L); });
}

Result<void> LuaHost::consume(uint32_t from, uint32_t to) {
    lua_State* L = impl_->L;
    const auto call = [&](uint32_t begin) {
        impl_->push(L, reg::consume);
        lua_pushnumber(L, begin);
        lua_pushnumber(L, to);
        return protected_call(L, 2, 0, traceback_handler);
    };
    Result<void> first = call(from);
    // Each call ends with one error at most, of another callback; the first one is told.
    bool done = first.ok();
    for (size_t left = done ? 0 : subscriptions(); left && !done; left--) done = call(to).ok();
    return first;
}

}  // namespace kpl
