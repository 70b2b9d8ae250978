// SPDX-License-Identifier: MIT
// require "kprobe" in any LuaJIT process: kprobe.session{…} gives the vocabulary of scripts as a table. Its handlers
// and callbacks are that process's own functions, in its own state.
//
// A Lua error does not unwind frames with destructors: functions here keep nothing that has one while they may raise.
#include <lua.hpp>

#include <cmath>
#include <cstring>
#include <new>
#include <string>

#include "api/handle.hpp"

namespace {

constexpr const char* session_class = "kprobe.session";
constexpr const char* callback_names[] = {"text", "note", "lost"};
enum { text_at = 1, note_at, lost_at, error_at };
constexpr int nr_callbacks = error_at - text_at;

// What a session's functions have as their upvalue.
struct Box {
    klua_session* session;
    lua_State* thread;  // that the program's callbacks run in; its stack begins with them (nil: there is none), and the
                        // error of one
    int callbacks;      // that run now, one within the other
};

Box* box_of(lua_State* L) { return static_cast<Box*>(lua_touserdata(L, lua_upvalueindex(1))); }

// Calls a callback of the program. An error in it ends the session's text, as if it had wanted no more; what the
// program had called raises it (see raise_kept).
int call_back(Box* box, int which, int args) {
    lua_State* L = box->thread;
    lua_pushvalue(L, which);
    lua_insert(L, -1 - args);
    box->callbacks++;
    const bool done = lua_pcall(L, args, 1, 0) == 0;
    box->callbacks--;
    const bool no_more = !done || (lua_isboolean(L, -1) && !lua_toboolean(L, -1));
    if (done)
        lua_pop(L, 1);
    else
        lua_replace(L, error_at);
    return no_more;
}

int on_text(void* user, const char* text, size_t length) {
    auto* box = static_cast<Box*>(user);
    lua_pushlstring(box->thread, text, length);
    return call_back(box, text_at, 1);
}

void on_note(void* user, klua_note kind, const char* line) {
    static constexpr const char* kinds[] = {"warning", "info", "detail", "stop"};
    auto* box = static_cast<Box*>(user);
    lua_pushstring(box->thread, line);
    lua_pushstring(box->thread, kinds[kind]);
    call_back(box, note_at, 2);
}

void on_lost(void* user, uint64_t events) {
    auto* box = static_cast<Box*>(user);
    lua_pushnumber(box->thread, static_cast<lua_Number>(events));
    call_back(box, lost_at, 1);
}

// Raises what the session had to say.
int raise(lua_State* L, klua_session* s, int error) {
    lua_pushstring(L, error == KLUA_ERR_HANDLE ? "the session is closed" : klua_error_text(s));
    return lua_error(L);
}

// The session of the function that runs; null after s.close().
klua_session* session_of(lua_State* L) {
    Box* box = box_of(L);
    if (!box->session) luaL_error(L, "the session is closed");
    return box->session;
}

// Raises what a callback of the program's has raised within the call that was made.
void raise_kept(lua_State* L, Box* box) {
    if (lua_isnil(box->thread, error_at)) return;
    lua_pushvalue(box->thread, error_at);
    lua_xmove(box->thread, L, 1);
    lua_pushnil(box->thread);
    lua_replace(box->thread, error_at);
    lua_error(L);
}

int done(lua_State* L, klua_session* s, int result) {
    raise_kept(L, box_of(L));
    if (result < 0) return raise(L, s, result);
    lua_pushnumber(L, result);
    return 1;
}

// One of the natives that write text, which is upvalue 2: what the program's callback raises is its error.
int written(lua_State* L) {
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 0);
    raise_kept(L, box_of(L));
    return 0;
}

// A call of the library that takes the session alone.
template <int (*call)(klua_session*)>
int plain(lua_State* L) {
    klua_session* s = session_of(L);
    return done(L, s, call(s));
}

// s.check(): compiles without a module; a list of { name =, cost =, budget =, instructions = }.
int check(lua_State* L) {
    klua_session* s = session_of(L);
    const int count = klua_check(s);
    raise_kept(L, box_of(L));
    if (count < 0) return raise(L, s, count);
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        klua_handler_info info{};
        info.size = sizeof info;
        klua_checked_handler(s, i, &info);
        lua_createtable(L, 0, 4);
        lua_pushstring(L, info.name);
        lua_setfield(L, -2, "name");
        lua_pushnumber(L, info.cost);
        lua_setfield(L, -2, "cost");
        lua_pushnumber(L, info.budget);
        lua_setfield(L, -2, "budget");
        lua_pushnumber(L, info.instructions);
        lua_setfield(L, -2, "instructions");
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

// s.poll(seconds): waits for at most so long (nothing: for ever); how many records came.
int poll(lua_State* L) {
    klua_session* s = session_of(L);
    if (!lua_isnoneornil(L, 1) && !lua_isnumber(L, 1))
        return luaL_error(L, "poll takes seconds, not a %s", luaL_typename(L, 1));
    const double seconds = lua_isnoneornil(L, 1) ? -1 : lua_tonumber(L, 1);
    if (std::isnan(seconds)) return luaL_error(L, "poll takes seconds, and nan are none");
    const int wait = seconds < 0 ? -1 : seconds > 1e6 ? 1000000000 : static_cast<int>(std::ceil(seconds * 1000));
    return done(L, s, klua_poll(s, wait, 20));
}

// The exit code, or nil as long as neither the script nor a handler has called exit().
int ended(lua_State* L) {
    klua_session* s = session_of(L);
    int code = 0;
    if (klua_ended(s, &code) <= 0) return 0;
    lua_pushnumber(L, code);
    return 1;
}

int close_box(lua_State* L, Box* box) {
    klua_session* s = box->session;
    if (!s) return 0;
    if (box->callbacks) return luaL_error(L, "this can't be called from a callback");
    const int result = klua_close(s);
    if (result < 0) return raise(L, s, result);  // from a callback of its own
    box->session = nullptr;
    return 0;
}

int close(lua_State* L) { return close_box(L, box_of(L)); }

int collected(lua_State* L) {
    auto* box = static_cast<Box*>(lua_touserdata(L, 1));
    if (box->session) klua_close(box->session);
    box->session = nullptr;
    return 0;
}

constexpr luaL_Reg functions[] = {
    {"arm", plain<klua_arm>},
    {"check", check},
    {"poll", poll},
    {"fd", plain<klua_fd>},
    {"ended", ended},
    {"disable", plain<klua_disable>},
    {"enable", plain<klua_enable>},
    {"stop", plain<klua_stop>},
    {"close", close},
    {nullptr, nullptr},
};

bool is_callback(const char* name) {
    for (const char* one : callback_names)
        if (std::strcmp(one, name) == 0) return true;
    return false;
}

// An option of the command line, with '_' for '-': max_probes = 5000. Others than numbers, strings and booleans are
// errors.
int set_option(lua_State* L, klua_session* s, const char* name) {
    char dashed[64];
    size_t i = 0;
    for (; name[i] && i + 1 < sizeof dashed; i++) dashed[i] = name[i] == '_' ? '-' : name[i];
    dashed[i] = 0;
    const char* value = lua_isboolean(L, -1) ? (lua_toboolean(L, -1) ? "1" : "0") : lua_tostring(L, -1);
    return klua_set_option(s, dashed, value);
}

// The options in the table at 1. 0, or an error that the session has noted.
int set_options(lua_State* L, klua_session* s) {
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        const int key = lua_type(L, -2);
        if (key != LUA_TSTRING)
            return s->errors.set(KLUA_ERR_USAGE, "kprobe.session takes options by name: { buffer = \"4M\" }");
        const char* name = lua_tostring(L, -2);
        if (is_callback(name)) {
            if (!lua_isfunction(L, -1))
                return s->errors.set(KLUA_ERR_USAGE, std::string("kprobe.session: '") + name +
                                                         "' must be a function, not a " + luaL_typename(L, -1));
        } else {
            if (std::strcmp(name, "include") == 0 || std::strcmp(name, "require") == 0)
                return s->errors.set(KLUA_ERR_USAGE,
                                     "modules are the program's own matter here: require them yourself");
            lua_pushvalue(L, -1);
            const int result = set_option(L, s, name);
            lua_pop(L, 1);
            if (result < 0) return result;
        }
        lua_pop(L, 1);
    }
    return 0;
}

// Without a function for it, text goes where the program's own goes.
void take_callbacks(lua_State* L, Box* box) {
    for (int i = 0; i < nr_callbacks; i++) {
        if (lua_istable(L, 1))
            lua_getfield(L, 1, callback_names[i]);
        else
            lua_pushnil(L);
        if (i + 1 == text_at && lua_isnil(L, -1)) {
            lua_pop(L, 1);
            lua_getglobal(L, "io");
            lua_getfield(L, -1, "write");
            lua_remove(L, -2);
        }
        if (!lua_isfunction(L, -1)) {
            lua_pop(L, 1);
            lua_pushnil(L);
        }
        lua_xmove(L, box->thread, 1);
    }
    lua_pushnil(box->thread);
}

klua_callbacks callbacks_of(Box* box) {
    klua_callbacks callbacks{};
    callbacks.size = sizeof callbacks;
    callbacks.user = box;
    if (!lua_isnil(box->thread, text_at)) callbacks.text = on_text;
    if (!lua_isnil(box->thread, note_at)) callbacks.note = on_note;
    if (!lua_isnil(box->thread, lost_at)) callbacks.lost = on_lost;
    return callbacks;
}

// Makes the session in the state L, whose stack has the table for its values on top. 0, or an error that it has noted.
int open_in(klua_session* s, lua_State* L) {
    s->lua = L;
    return kpl::api::call(s, kpl::api::From::Outside, [&]() -> kpl::Result<int> {
        TRY(s->open());
        return 0;
    });
}

// kprobe.session{ text = fn, note = fn, lost = fn, OPTION = value, … }
int session(lua_State* L) {
    if (!lua_isnoneornil(L, 1) && !lua_istable(L, 1))
        return luaL_error(L, "kprobe.session takes a table of options, not a %s", luaL_typename(L, 1));
    lua_settop(L, 1);
    auto* box = static_cast<Box*>(lua_newuserdata(L, sizeof(Box)));
    std::memset(static_cast<void*>(box), 0, sizeof *box);
    luaL_getmetatable(L, session_class);
    lua_setmetatable(L, 2);
    // What the session refers to lives as long as its box, and does not keep it: a session that nobody has is
    // collected.
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfenv(L, 2);
    box->thread = lua_newthread(L);
    lua_setfield(L, 3, "thread");
    take_callbacks(L, box);
    const klua_callbacks callbacks = callbacks_of(box);
    int result = klua_open(&callbacks, &box->session);
    if (result == 0 && lua_istable(L, 1)) result = set_options(L, box->session);
    lua_settop(L, 3);
    if (result == 0) result = open_in(box->session, L);
    if (result < 0) {
        lua_pushstring(L, klua_error_text(box->session));
        klua_close(box->session);
        box->session = nullptr;
        return lua_error(L);
    }
    lua_settop(L, 2);
    const kpl::LuaHost& host = box->session->session->host();
    host.push_natives(L);
    for (const char* name : {"write", "emit"}) {
        lua_pushvalue(L, 2);
        lua_getfield(L, 3, name);
        lua_pushcclosure(L, written, 2);
        lua_setfield(L, 3, name);
    }
    lua_settop(L, 2);
    host.push_vocabulary(L);
    for (const char* name : {"medium", "emit_row", "has"}) {  // of tools, which are the command's
        lua_pushnil(L);
        lua_setfield(L, 3, name);
    }
    for (const luaL_Reg* f = functions; f->name; f++) {
        lua_pushvalue(L, 2);
        lua_pushcclosure(L, f->func, 1);
        lua_setfield(L, 3, f->name);
    }
    return 1;
}

// What only a session has is said to be so.
int unknown_name(lua_State* L) {
    const char* name = lua_tostring(L, 2);
    return luaL_error(
        L,
        "kprobe.%s: outside of scripts, declarations belong to a session: local s = require \"kprobe\".session{}; "
        "s.%s",
        name ? name : "?", name ? name : "…");
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int luaopen_kprobe(lua_State* L) {
    luaL_newmetatable(L, session_class);
    lua_pushcfunction(L, collected);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushcfunction(L, session);
    lua_setfield(L, -2, "session");
    lua_pushliteral(L, KPL_VERSION);
    lua_setfield(L, -2, "version");
    lua_pushnumber(L, KLUA_API_VERSION);
    lua_setfield(L, -2, "api_version");
    lua_newtable(L);
    lua_pushcfunction(L, unknown_name);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    return 1;
}
