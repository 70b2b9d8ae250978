// SPDX-License-Identifier: MIT
#include "luahost/errors.hpp"

#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

#include "base/printable.hpp"
#include "hints/other_tracers.hpp"
#include "symbols/nearest.hpp"

namespace kpl {
namespace {

constexpr int most_frames = 12;

// " (did you mean count?)" of the names that scripts have; of equally near ones in the alphabet's order.
std::string near_globals(lua_State* L, const std::string& name) {
    std::set<std::string> globals;
    lua_pushnil(L);
    while (lua_next(L, LUA_GLOBALSINDEX)) {
        if (lua_type(L, -2) == LUA_TSTRING) globals.insert(lua_tostring(L, -2));
        lua_pop(L, 1);
    }
    Nearest nearest(name);
    for (const std::string& global : globals) nearest.offer(global);
    return did_you_mean(nearest.names());
}

// LuaJIT says "file:line: attempt to call global 'x' (a nil value)".
std::string explain_nil(lua_State* L, const std::string& message) {
    constexpr std::string_view before = " global '", behind = "' (a nil value)";
    const size_t attempt = message.find("attempt to "), at = message.find(before), end = message.find(behind);
    if (attempt == message.npos || at == message.npos || end == message.npos || end < at) return message;
    const std::string name = message.substr(at + before.size(), end - at - before.size());
    const auto theirs = foreign_name(name);
    return message.substr(0, attempt) + "'" + name + "' is not defined" +
           (theirs ? ": " + *theirs : near_globals(L, name)) + message.substr(end + behind.size());
}

}  // namespace

int message_handler(lua_State* L) {
    if (lua_type(L, 1) == LUA_TSTRING) return 1;
    if (luaL_callmeta(L, 1, "__tostring")) return 1;
    lua_pushfstring(L, "error object is %s", luaL_typename(L, 1));
    return 1;
}

int traceback_handler(lua_State* L) {
    message_handler(L);
    lua_pushliteral(L, "\nstack traceback:");
    lua_Debug info{};
    int frames = 0;
    for (int level = 1; frames < most_frames && lua_getstack(L, level, &info); level++) {
        lua_getinfo(L, "Sln", &info);
        if (info.currentline <= 0 || std::strcmp(info.source, "=kprobe") == 0) continue;  // ours, and C
        frames++;
        lua_pushfstring(L, "\n    %s:%d: in ", info.short_src, info.currentline);
        if (info.name)
            lua_pushfstring(L, "function '%s'", info.name);
        else
            lua_pushfstring(L, "the function of line %d", info.linedefined);
        lua_concat(L, 3);
    }
    if (frames)
        lua_concat(L, 2);
    else
        lua_pop(L, 1);
    return 1;
}

Error pop_error(lua_State* L) {
    size_t size = 0;
    const char* s = lua_tolstring(L, -1, &size);
    Error error{Errc::script, s ? explain_nil(L, printable(std::string(s, size), "\n\t")) : "error without a message"};
    lua_pop(L, 1);
    return error;
}

namespace {

std::string line_of(const std::string& code, size_t number) {
    size_t begin = 0;
    for (size_t n = 1; n < number; n++) {
        begin = code.find('\n', begin);
        if (begin++ == code.npos) return {};
    }
    return code.substr(begin, code.find('\n', begin) - begin);
}

// "file:3: '=' expected near '!='": what stands in that line.
std::optional<std::string> operator_in(const std::string& message, const std::string& code) {
    const size_t near = message.find(" near '");
    const size_t end = near == message.npos ? near : message.rfind(": ", near);
    const size_t begin = end == message.npos ? end : message.rfind(':', end - 1);
    if (begin == message.npos) return std::nullopt;
    const int number = std::atoi(message.c_str() + begin + 1);
    return number > 0 ? foreign_operator(line_of(code, static_cast<size_t>(number))) : std::nullopt;
}

}  // namespace

Error explain_chunk(Error error, const std::string& code, const std::string& name) {
    if (error.code != Errc::script) return error;
    if (auto theirs = foreign_script(code)) return {Errc::script, *theirs, {name, 1}};
    if (auto theirs = operator_in(error.text, code)) error.text += ": " + *theirs;
    return error;
}

}  // namespace kpl
