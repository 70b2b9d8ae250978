// SPDX-License-Identifier: MIT
#include "luahost/host.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "base/version.hpp"
#include "hints/other_tracers.hpp"
#include "luahost/errors.hpp"
#include "luahost/lua_impl.hpp"

namespace kpl {
namespace {

#include "events_lua_side.inc"
#include "kprobe_lua_side.inc"

// In a program's registry: a table of the values that each joined host keeps, which it does not keep itself.
constexpr const char* joined_hosts = "kpl.hosts";

// Takes the table on top of the stack, which stays there, as the one for the host's values.
void add_joined(lua_State* L, LuaHost::Impl* host) {
    lua_getfield(L, LUA_REGISTRYINDEX, joined_hosts);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_createtable(L, 0, 1);
        lua_pushliteral(L, "v");
        lua_setfield(L, -2, "__mode");
        lua_setmetatable(L, -2);
        lua_pushvalue(L, -1);
        lua_setfield(L, LUA_REGISTRYINDEX, joined_hosts);
    }
    lua_pushlightuserdata(L, host);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

// Pushes a table with Lua's own functions: a script may give their names to something else.
void copy_globals(lua_State* L) {
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, LUA_GLOBALSINDEX)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
}

// Runs what all scripts need of lua/. `embedded`: the state is a program's, whose globals are left alone.
Result<void> load_lua_side(LuaHost::Impl& impl, bool embedded) {
    lua_State* L = impl.L;
    StackGuard guard(L);
    impl.box = static_cast<LuaHost::Impl**>(lua_newuserdata(L, sizeof(LuaHost::Impl*)));
    *impl.box = &impl;
    push_core(L);
    lua_pushboolean(L, embedded);
    lua_setfield(L, -2, "embedded");
    lua_pushliteral(L, KPL_VERSION);
    lua_setfield(L, -2, "version");
    lua_pushnumber(L, api_version);
    lua_setfield(L, -2, "api_version");
    impl.core = impl.keep(L);
    copy_globals(L);
    impl.globals = impl.keep(L);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    impl.names = impl.keep(L);
    for (const LuaSide* side : {&kprobe_side, &events_side}) TRY(run_side(impl, *side));
    for (const char* name : {reg::int64, reg::uint64, reg::cdata_kind, reg::stack_class}) {
        lua_getfield(L, -1, std::strchr(name, '.') + 1);
        lua_setfield(L, LUA_REGISTRYINDEX, name);
    }
    return {};
}

// Lua's own default begins with the current directory: what lies there would run with the rights of who happens to
// stand there.
void forget_relative_dirs(lua_State* L) {
    StackGuard guard(L);
    lua_getglobal(L, "package");
    for (const char* field : {"path", "cpath"}) {
        lua_getfield(L, -1, field);
        std::istringstream dirs(lua_tostring(L, -1));
        std::string kept;
        for (std::string dir; std::getline(dirs, dir, ';');)
            if (dir.starts_with('/')) kept += (kept.empty() ? "" : ";") + dir;
        lua_pushlstring(L, kept.data(), kept.size());
        lua_setfield(L, -3, field);
        lua_pop(L, 1);
    }
}

// Opcode numbers are those of the running LuaJIT: its own table gives them their names.
Result<OpcodeMap> running_opcodes(LuaHost::Impl& impl) {
    lua_State* L = impl.L;
    lua_getglobal(L, "require");
    lua_pushliteral(L, "jit.vmdef");
    if (auto ok = protected_call(L, 1, 1); !ok)
        return Error{Errc::system, "LuaJIT's own module jit.vmdef is missing (package libluajit-5.1-common)"};
    lua_getfield(L, -1, "bcnames");
    size_t size = 0;
    const char* names = lua_tolstring(L, -1, &size);
    auto map = names ? OpcodeMap::from_vmdef({names, size})
                     : Result<OpcodeMap>(Error{Errc::system, "jit.vmdef has no opcode names"});
    lua_getglobal(L, "jit");
    if (lua_istable(L, -1) && names) {
        lua_getfield(L, -1, "version");
        const char* version = lua_tostring(L, -1);
        impl.running = version ? version + std::string(names, size) : "";
        lua_pop(L, 1);
    }
    lua_pop(L, 3);
    return map;
}

// Past what a script has made of the globals' metatable: an error would have nobody to catch it.
void get_global(lua_State* L, const char* name) {
    lua_pushstring(L, name);
    lua_rawget(L, LUA_GLOBALSINDEX);
}

void set_args(lua_State* L, const std::string& name, std::span<const std::string> args) {
    lua_pushliteral(L, "arg");
    lua_createtable(L, static_cast<int>(args.size()), 1);
    lua_pushlstring(L, name.data(), name.size());
    lua_rawseti(L, -2, 0);
    for (size_t i = 0; i < args.size(); i++) {
        lua_pushlstring(L, args[i].data(), args[i].size());
        lua_rawseti(L, -2, static_cast<int>(i + 1));
    }
    lua_rawset(L, LUA_GLOBALSINDEX);
}

// Not a target of another tracer's, "/bin/bash:readline".
bool is_path(const std::string& text) {
    return text.ends_with(".lua") || (text.starts_with('/') && text.find(':') == text.npos);
}

// Empty: what was read can't be read again.
std::string content(const std::string& path) {
    std::error_code none;
    if (!std::filesystem::is_regular_file(path, none)) return {};
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Calls the chunk below `args` arguments on the stack.
Result<void> call_chunk(LuaHost::Impl& impl, int args) {
    const bool outer = std::exchange(impl.in_chunk, true);
    auto ran = protected_call(impl.L, args, 0);
    impl.in_chunk = outer;
    return ran;
}

// Calls the loaded chunk on the stack with the arguments as its varargs.
Result<void> run_chunk(LuaHost::Impl& impl, const std::string& name, std::span<const std::string> args) {
    set_args(impl.L, name, args);
    for (const std::string& arg : args) lua_pushlstring(impl.L, arg.data(), arg.size());
    return call_chunk(impl, static_cast<int>(args.size()));
}

}  // namespace

// Bytecode is ready at once, and for one LuaJIT alone.
Result<void> run_side(LuaHost::Impl& impl, const LuaSide& side) {
    lua_State* L = impl.L;
    const auto load = [L](std::span<const unsigned char> chunk) {
        return luaL_loadbuffer(L, reinterpret_cast<const char*>(chunk.data()), chunk.size(), "=kprobe") == 0;
    };
    bool loaded = side.compiled_by == impl.running && load(side.bytecode);
    if (!loaded && side.compiled_by == impl.running) lua_pop(L, 1);
    if (!loaded && !load(side.source)) return pop_error(L);
    impl.push_kept(L, impl.globals);
    lua_setfenv(L, -2);
    impl.push_kept(L, impl.core);
    impl.push_kept(L, impl.names);
    return protected_call(L, 2, 0);
}

Result<void> protected_call(lua_State* L, int args, int results, int (*handler)(lua_State*)) {
    const int base = lua_gettop(L) - args;
    lua_pushcfunction(L, handler ? handler : message_handler);
    lua_insert(L, base);
    const int status = lua_pcall(L, args, results, base);
    lua_remove(L, base);
    if (status != 0) return pop_error(L);
    return {};
}

LuaHost::Impl::~Impl() {
    if (!L) return;
    if (box) *box = nullptr;  // functions of the session may outlive it
    if (owns_state) {
        lua_close(L);
        return;
    }
    // In its own thread still: that is dropped last.
    drop(core);
    drop(names);
    drop(globals);
    lua_getfield(L, LUA_REGISTRYINDEX, joined_hosts);
    lua_pushlightuserdata(L, this);
    lua_pushnil(L);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

void LuaHost::Impl::push_values(lua_State* on) const {
    if (owns_state) {
        lua_pushvalue(on, LUA_REGISTRYINDEX);
        return;
    }
    lua_getfield(on, LUA_REGISTRYINDEX, joined_hosts);
    lua_pushlightuserdata(on, const_cast<Impl*>(this));
    lua_rawget(on, -2);
    lua_remove(on, -2);
}

int LuaHost::Impl::keep(lua_State* from) {
    push_values(from);
    lua_insert(from, -2);
    const int number = luaL_ref(from, -2);
    lua_pop(from, 1);
    return number;
}

void LuaHost::Impl::push_kept(lua_State* to, int number) const {
    push_values(to);
    lua_rawgeti(to, -1, number);
    lua_remove(to, -2);
}

void LuaHost::Impl::drop(int number) {
    push_values(L);
    luaL_unref(L, -1, number);
    lua_pop(L, 1);
}

LuaHost::LuaHost(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LuaHost::LuaHost(LuaHost&&) noexcept = default;
LuaHost::~LuaHost() = default;

const char* LuaHost::lua_version() { return LUAJIT_VERSION; }

Result<LuaHost> LuaHost::create(ScriptApi& api) {
    auto impl = std::make_unique<Impl>();
    impl->api = &api;
    impl->L = luaL_newstate();
    if (!impl->L) return Error{Errc::system, "not enough memory for a Lua state"};
    impl->owns_state = true;
    luaL_openlibs(impl->L);
    forget_relative_dirs(impl->L);
    // What runs once is not worth native code.
    luaJIT_setmode(impl->L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
    impl->opcodes = TRY(running_opcodes(*impl));
    TRY(load_lua_side(*impl, false));
    luaJIT_setmode(impl->L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_ON);
    return LuaHost(std::move(impl));
}

Result<LuaHost> LuaHost::join(ScriptApi& api, lua_State* L) {
    auto impl = std::make_unique<Impl>();
    impl->api = &api;
    add_joined(L, impl.get());
    impl->L = lua_newthread(L);
    impl->thread = impl->keep(L);
    impl->opcodes = TRY(running_opcodes(*impl));
    TRY(load_lua_side(*impl, true));
    return LuaHost(std::move(impl));
}

void LuaHost::push_natives(lua_State* to) const { impl_->push_kept(to, impl_->core); }
void LuaHost::push_vocabulary(lua_State* to) const { impl_->push(to, reg::vocabulary); }

void LuaHost::add_search_dir(const std::string& dir, bool last) {
    lua_State* L = impl_->L;
    StackGuard guard(L);
    get_global(L, "package");
    if (!lua_istable(L, -1)) return;  // the script has taken it away
    lua_pushliteral(L, "path");
    lua_rawget(L, -2);
    const char* path_now = lua_tostring(L, -1);
    const std::string before = path_now ? path_now : "", here = dir + "/?.lua;" + dir + "/?/init.lua";
    const std::string path = last ? before + ";" + here : here + ";" + before;
    lua_pushliteral(L, "path");
    lua_pushlstring(L, path.data(), path.size());
    lua_rawset(L, -4);
}

Result<void> LuaHost::require_module(const std::string& name) {
    get_global(impl_->L, "require");
    lua_pushlstring(impl_->L, name.data(), name.size());
    return call_chunk(*impl_, 1);
}

LuaHost::KeptErrors LuaHost::take_kept() { return std::exchange(impl_->kept, {}); }

Result<void> LuaHost::run_file(const std::string& path, std::span<const std::string> args) {
    const int status = luaL_loadfile(impl_->L, path == "-" ? nullptr : path.c_str());
    if (status != 0) {
        Error error = pop_error(impl_->L);
        if (status == LUA_ERRFILE) {
            error.code = Errc::system;
            const auto theirs = is_path(path) ? std::nullopt : foreign_target(path);
            if (theirs) error.text += ": " + *theirs;
            return error;  // there is no content to explain it by
        }
        return explain_chunk(std::move(error), content(path), path);
    }
    remember_chunk(*impl_, impl_->L);
    std::error_code error;
    const std::string folder = path == "-" ? "" : std::filesystem::absolute(path, error).parent_path().string();
    if (!folder.empty() && folder.find_first_of(";?") == folder.npos) add_search_dir(folder, true);
    auto ran = run_chunk(*impl_, path, args);
    if (!ran) return explain_chunk(std::move(ran).error(), content(path), path);
    return ran;
}

Result<void> LuaHost::run_string(const std::string& code, const std::string& name, std::span<const std::string> args) {
    const std::string shown = name.substr(name.find_first_not_of("@="));
    if (luaL_loadbuffer(impl_->L, code.data(), code.size(), name.c_str()) != 0)
        return explain_chunk(pop_error(impl_->L), code, shown);
    remember_chunk(*impl_, impl_->L);
    auto ran = run_chunk(*impl_, "-e", args);
    if (!ran) return explain_chunk(std::move(ran).error(), code, shown);
    return ran;
}

Result<void> LuaHost::call(CallbackId callback) {
    impl_->push_kept(impl_->L, callback);
    return protected_call(impl_->L, 0, 0, traceback_handler);
}

void LuaHost::forget(CallbackId callback) { impl_->drop(callback); }

}  // namespace kpl
