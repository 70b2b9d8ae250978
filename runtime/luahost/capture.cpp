// SPDX-License-Identifier: MIT
// Live Lua values as the compiler sees them (ir/capture.hpp).
#include <algorithm>
#include <cstring>

#include "luahost/lua_impl.hpp"

namespace kpl {
namespace {

constexpr int lua_tcdata = 10;

std::string dump_function(lua_State* L) {
    std::string dump;
    auto writer = [](lua_State*, const void* data, size_t size, void* to) {
        static_cast<std::string*>(to)->append(static_cast<const char*>(data), size);
        return 0;
    };
    if (lua_dump(L, writer, &dump) != 0) dump.clear();
    return dump;
}

bool reads_global_in(const Proto& f, std::span<const std::string_view> names) {
    for (const Insn& insn : f.code)
        if (insn.op == Op::GGET && std::ranges::count(names, std::get<std::string>(f.gc[insn.c]))) return true;
    return std::ranges::any_of(f.gc, [&](const GcConst& constant) {
        const auto* inner = std::get_if<std::shared_ptr<const Proto>>(&constant);
        return inner && reads_global_in(**inner, names);
    });
}

Result<std::shared_ptr<const Proto>> decode(const std::string& dump, const OpcodeMap& opcodes) {
    return read_dump({reinterpret_cast<const uint8_t*>(dump.data()), dump.size()}, opcodes);
}

// A module's file, or the text that `load` was given, loaded again: it is not run.
void load_again(LuaHost::Impl& host, lua_State* L, const std::string& chunk) {
    StackGuard guard(L);
    const int status = chunk.starts_with('@')   ? luaL_loadfile(L, chunk.c_str() + 1)
                       : chunk.starts_with('=') ? LUA_ERRFILE
                                                : luaL_loadbuffer(L, chunk.data(), chunk.size(), chunk.c_str());
    if (status == 0) remember_chunk(host, L);
}

// `f` as a part of the chunk that it stands in, where all of its captured locals are known; else nullptr.
std::shared_ptr<const Proto> within_chunk(LuaHost::Impl& host, const Proto& f) {
    // What was loaded last comes first: lines of the REPL have one name.
    for (size_t i = host.chunks.size(); i-- > 0;) {
        LuaHost::Impl::Chunk& chunk = host.chunks[i];
        if (!chunk.proto) {
            auto proto = decode(chunk.dump, host.opcodes);
            if (!proto) continue;
            chunk.proto = *proto;
        }
        if (const Proto* found = same_code(*chunk.proto, f)) return {chunk.proto, found};
    }
    return nullptr;
}

bool has_unknown(const Proto& f) {
    return std::any_of(f.upvalues.begin(), f.upvalues.end(), [](const UpvalueDesc& u) { return u.unknown; });
}

class LuaFunction : public FunctionRef {
  public:
    LuaFunction(LuaHost::Impl& host, lua_State* L, int index)
        : host_(host), ref_(host, L, index), identity_(lua_topointer(L, index)) {}

    Result<std::shared_ptr<const Proto>> proto() const override {
        if (proto_) return proto_;
        lua_State* L = ref_.state();
        StackGuard guard(L);
        ref_.push();
        if (lua_iscfunction(L, -1))
            return Error{Errc::script, "a function of C can't be a handler: write `function(p) … end`"};
        const std::string dump = dump_function(L);
        if (dump.empty()) return Error{Errc::script, "the function can't be dumped"};
        proto_ = TRY(decode(dump, host_.opcodes));
        if (!has_unknown(*proto_)) return proto_;
        auto whole = within_chunk(host_, *proto_);
        if (!whole) {
            load_again(host_, L, proto_->chunk);
            whole = within_chunk(host_, *proto_);
        }
        if (whole) proto_ = whole;
        return proto_;
    }

    Captured upvalue(uint32_t index) const override {
        lua_State* L = ref_.state();
        StackGuard guard(L);
        ref_.push();
        const char* name = lua_getupvalue(L, -1, static_cast<int>(index) + 1);
        if (!name) return Nil{};
        return capture(host_, L, -1, name);
    }

    Captured global(const std::string& name) const override {
        lua_State* L = ref_.state();
        StackGuard guard(L);
        ref_.push();
        lua_getfenv(L, -1);
        lua_pushlstring(L, name.data(), name.size());
        lua_rawget(L, -2);
        return capture(host_, L, -1, name);
    }

    const void* identity() const override { return identity_; }

  private:
    LuaHost::Impl& host_;
    LuaRef ref_;
    const void* identity_;
    mutable std::shared_ptr<const Proto> proto_;
};

class LuaTable : public TableRef {
  public:
    LuaTable(LuaHost::Impl& host, lua_State* L, int index)
        : host_(host), ref_(host, L, index), identity_(lua_topointer(L, index)) {}

    Captured get(const std::string& key) const override {
        lua_State* L = ref_.state();
        StackGuard guard(L);
        ref_.push();
        lua_pushlstring(L, key.data(), key.size());
        lua_rawget(L, -2);
        return capture(host_, L, -1, key);
    }
    Captured get(int64_t index) const override {
        lua_State* L = ref_.state();
        StackGuard guard(L);
        ref_.push();
        lua_pushnumber(L, static_cast<lua_Number>(index));
        lua_rawget(L, -2);
        return capture(host_, L, -1, {});
    }
    const void* identity() const override { return identity_; }

  private:
    LuaHost::Impl& host_;
    LuaRef ref_;
    const void* identity_;
};

// The class of an object of lua/kprobe.lua, or nullptr.
const char* class_of(const LuaHost::Impl& host, lua_State* L, int index) {
    StackGuard guard(L);
    if (!lua_getmetatable(L, index)) return nullptr;
    for (const char* name : {reg::map_class, reg::shared_class, reg::event_class, reg::probe_class}) {
        host.push(L, name);
        const bool same = lua_rawequal(L, -1, -2);
        lua_pop(L, 1);
        if (same) return name;
    }
    return nullptr;
}

uint32_t object_id(lua_State* L, int index) {
    StackGuard guard(L);
    lua_pushvalue(L, index);
    lua_pushliteral(L, "id");
    lua_rawget(L, -2);
    return static_cast<uint32_t>(lua_tonumber(L, -1));
}

Captured capture_table(LuaHost::Impl& host, lua_State* L, int index, const std::string& name) {
    const char* cls = class_of(host, L, index);
    if (!cls) return std::make_shared<const LuaTable>(host, L, index);
    ScriptApi& api = *host.api;
    const uint32_t id = object_id(L, index);
    if (std::strcmp(cls, reg::map_class) == 0 || std::strcmp(cls, reg::shared_class) == 0) {
        api.name_map(id, name);
        return MapRef{id};
    }
    if (std::strcmp(cls, reg::event_class) == 0) {
        api.name_event(id, name);
        return EventRef{id};
    }
    return OpaqueRef{"a probe"};
}

Captured capture_function(LuaHost::Impl& host, lua_State* L, int index) {
    {
        StackGuard guard(L);
        lua_pushvalue(L, index);
        host.push(L, reg::builtins);
        lua_insert(L, -2);
        lua_rawget(L, -2);
        if (lua_type(L, -1) == LUA_TSTRING) return BuiltinRef{lua_tostring(L, -1)};
    }
    if (lua_iscfunction(L, index)) return OpaqueRef{"a C function"};
    return function_ref(host, L, index);
}

Captured capture_cdata(lua_State* L, int index) {
    const std::string kind = cdata_kind(L, index);
    int64_t bits = 0;
    if (kind == "int64" || kind == "uint64") std::memcpy(&bits, lua_topointer(L, index), sizeof bits);
    if (kind == "int64") return bits;
    if (kind == "uint64") return static_cast<uint64_t>(bits);
    return OpaqueRef{kind};
}

}  // namespace

bool chunk_reads_global(const LuaHost::Impl& host, lua_State* L, std::span<const std::string_view> names) {
    const auto proto = decode(dump_function(L), host.opcodes);
    return proto && reads_global_in(**proto, names);
}

void remember_chunk(LuaHost::Impl& host, lua_State* L) { host.chunks.push_back({dump_function(L), nullptr}); }

FunctionPtr function_ref(LuaHost::Impl& host, lua_State* L, int index) {
    return std::make_shared<const LuaFunction>(host, L, index);
}

Captured capture(LuaHost::Impl& host, lua_State* L, int index, const std::string& name) {
    if (index < 0 && index > LUA_REGISTRYINDEX) index = lua_gettop(L) + index + 1;
    switch (lua_type(L, index)) {
        case LUA_TNIL: return Nil{};
        case LUA_TBOOLEAN: return lua_toboolean(L, index) != 0;
        case LUA_TNUMBER: return static_cast<double>(lua_tonumber(L, index));
        case LUA_TSTRING: {
            size_t size = 0;
            const char* s = lua_tolstring(L, index, &size);
            return std::string(s, size);
        }
        case LUA_TTABLE: return capture_table(host, L, index, name);
        case LUA_TFUNCTION: return capture_function(host, L, index);
        case lua_tcdata: return capture_cdata(L, index);
        default: return OpaqueRef{lua_typename(L, lua_type(L, index))};
    }
}

}  // namespace kpl
