// SPDX-License-Identifier: MIT
// Private to luahost: errors of a script, in words for whoever wrote it.
#pragma once

#include <lua.hpp>

#include <string>

#include "base/result.hpp"

namespace kpl {

// Handlers for lua_pcall: the message as a string; with the functions of the script that led there.
int message_handler(lua_State* L);
int traceback_handler(lua_State* L);

// Pops the message. A name that means nothing is answered with what it may have been meant for.
Error pop_error(lua_State* L);

// `error` of the chunk `code`, which may be written for another tracer: then the answer says so.
Error explain_chunk(Error error, const std::string& code, const std::string& name);

}  // namespace kpl
