// SPDX-License-Identifier: MIT
// Inputs of a prompt: whole or not yet, run, shown, interrupted.
#include "luahost/prompt.hpp"

#include <sstream>
#include <string_view>

#include "luahost/errors.hpp"
#include "luahost/lua_impl.hpp"

namespace kpl {
namespace {

#include "prompt_lua_side.inc"

constexpr int stop_period = 1000;  // instructions; a pcall in a loop does not outlive it

void stop_here(lua_State* L, lua_Debug*) { luaL_error(L, "interrupted"); }

bool is_expression_only(const std::string& input) { return input.starts_with('='); }

std::string without_sign(const std::string& input) { return input.substr(is_expression_only(input) ? 1 : 0); }

// Loads the input onto the stack: as an expression if it is one. The chunk is called with a function that takes the
// values: `return f()` would leave no trace of the line that called f.
int load_input(lua_State* L, const std::string& input, const std::string& name) {
    const std::string expression = "return (...)(" + without_sign(input) + "\n)";
    const int status = luaL_loadbuffer(L, expression.data(), expression.size(), name.c_str());
    if (status == 0 || is_expression_only(input)) return status;
    lua_pop(L, 1);
    return luaL_loadbuffer(L, input.data(), input.size(), name.c_str());
}

// LuaJIT met the end where it wanted more.
bool ends_early(lua_State* L, const std::string& code) {
    StackGuard guard(L);
    if (luaL_loadbuffer(L, code.data(), code.size(), "=") != LUA_ERRSYNTAX) return false;
    size_t size = 0;
    const char* text = lua_tolstring(L, -1, &size);
    return std::string_view(text, size).ends_with("near '<eof>'");
}

Result<PromptApi*> prompt_of(const LuaHost::Impl& host) {
    if (!host.prompt) return Error{Errc::script, "this is for the prompt: kprobe-lua -i"};
    return host.prompt;
}

}  // namespace

// ---- for lua/prompt.lua
int prompt_ask(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        const std::string answer = TRY(TRY(prompt_of(host))->ask(lua_tostring(L, 1), lua_tostring(L, 2)));
        lua_pushlstring(L, answer.data(), answer.size());
        return 1;
    });
}

int prompt_declared(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        push_uint(L, TRY(prompt_of(host))->declared());
        return 1;
    });
}

int prompt_describe(lua_State* L) {
    return guarded(L, [&](LuaHost::Impl& host) -> Result<int> {
        const PromptApi::Row row = TRY(TRY(prompt_of(host))->describe(static_cast<uint32_t>(lua_tonumber(L, 1))));
        lua_createtable(L, 0, 6);
        push_uint(L, row.places);
        lua_setfield(L, -2, "places");
        lua_pushboolean(L, row.has_first);
        lua_setfield(L, -2, "has_first");
        lua_pushboolean(L, row.status.follows_calls);
        lua_setfield(L, -2, "follows_calls");
        lua_pushstring(L, row.status.state.c_str());
        lua_setfield(L, -2, "state");
        push_counts(L, row.status.first);
        lua_setfield(L, -2, "first");
        if (row.status.second_name.empty()) return 1;
        push_counts(L, row.status.second);
        lua_setfield(L, -2, "second");
        return 1;
    });
}

// ---- for the program
Result<void> LuaHost::open_prompt(PromptApi& api) {
    impl_->prompt = &api;
    return run_side(*impl_, prompt_side);
}

bool LuaHost::is_unfinished(const std::string& input) {
    lua_State* L = impl_->L;
    StackGuard guard(L);
    if (load_input(L, input, "=") == 0) return false;
    return ends_early(L, "return " + without_sign(input)) || (!is_expression_only(input) && ends_early(L, input));
}

Result<void> LuaHost::run_input(const std::string& input, const std::string& name) {
    lua_State* L = impl_->L;
    if (load_input(L, input, "=" + name) != 0) return explain_chunk(pop_error(L), input, name);
    remember_chunk(*impl_, L);
    impl_->push(L, reg::prompt_run);
    lua_insert(L, -2);
    auto ran = protected_call(L, 1, 0);
    if (!ran) return explain_chunk(std::move(ran).error(), input, name);
    return ran;
}

Result<std::string> LuaHost::input_done(bool well) {
    lua_State* L = impl_->L;
    StackGuard guard(L);
    impl_->push(L, reg::prompt_done);
    lua_pushboolean(L, well);
    TRY(protected_call(L, 1, 1));
    size_t size = 0;
    const char* text = lua_tolstring(L, -1, &size);
    return std::string(text, size);
}

bool LuaHost::is_expression(const std::string& input) {
    StackGuard guard(impl_->L);
    const std::string expression = "return " + without_sign(input);
    return luaL_loadbuffer(impl_->L, expression.data(), expression.size(), "=") == 0;
}

bool LuaHost::reads_global(const std::string& input, std::span<const std::string_view> names) {
    StackGuard guard(impl_->L);
    return load_input(impl_->L, input, "=") == 0 && chunk_reads_global(*impl_, impl_->L, names);
}

// Asks a function of lua/prompt.lua; nothing after an error.
static std::string answer_of(const LuaHost::Impl& impl, const char* function, const std::string& of) {
    lua_State* L = impl.L;
    StackGuard guard(L);
    impl.push(L, function);
    lua_pushlstring(L, of.data(), of.size());
    if (!protected_call(L, 1, 1)) return {};
    size_t size = 0;
    const char* text = lua_tolstring(L, -1, &size);
    return text ? std::string(text, size) : std::string();
}

std::vector<std::string> LuaHost::names_behind(const std::string& path) {
    std::vector<std::string> names;
    std::istringstream lines(answer_of(*impl_, reg::prompt_names, path));
    for (std::string name; std::getline(lines, name);) names.push_back(name);
    return names;
}

std::string LuaHost::about_variable(const std::string& name) { return answer_of(*impl_, reg::prompt_about, name); }

void LuaHost::interrupt() noexcept { lua_sethook(impl_->L, stop_here, LUA_MASKCOUNT, stop_period); }
void LuaHost::calm() noexcept { lua_sethook(impl_->L, nullptr, 0, 0); }

}  // namespace kpl
