// SPDX-License-Identifier: MIT
// LuaHost: the Lua state that a script runs in.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bytecode/proto.hpp"
#include "luahost/declarations.hpp"

struct lua_State;

namespace kpl {

struct RecordBatch;
class PromptApi;

class LuaHost {
  public:
    static const char* lua_version();  // "LuaJIT 2.1.0-beta3"
    // The script's environment holds the names of `require "kprobe"`, `ffi` and `bit`.
    static Result<LuaHost> create(ScriptApi& api);
    // In the state of a program, whose globals are left alone: its functions are handlers and callbacks. The table on
    // top of the stack, which stays there, keeps all that the host refers to; it and the state outlive the host.
    static Result<LuaHost> join(ScriptApi& api, lua_State* L);
    void push_vocabulary(lua_State* to) const;  // the table of what scripts have as globals
    void push_natives(lua_State* to) const;     // the table of native functions that it calls
    LuaHost(LuaHost&&) noexcept;
    LuaHost& operator=(LuaHost&&) = delete;
    ~LuaHost();

    // Modules are looked for there first, or `last`.
    void add_search_dir(const std::string& dir, bool last = false);
    Result<void> require_module(const std::string& name);
    // `args`: arg[1]…; arg[0] is `name`. A path "-" reads stdin. Modules may lie beside a file.
    Result<void> run_file(const std::string& path, std::span<const std::string> args);
    Result<void> run_string(const std::string& code, const std::string& name, std::span<const std::string> args);

    // Errors of declarations that chunks made since this was last called: the script went on behind them.
    struct KeptErrors {
        std::string text;   // "file:line: what", a line for each; empty: there were none
        bool alone = true;  // other declarations can be compiled without those
    };
    KeptErrors take_kept();

    // Errors carry the script's "file:line: what" as their text.
    Result<void> call(CallbackId callback);
    void forget(CallbackId callback);  // it will not be called any more

    // Callbacks that events were given so far; ends those behind the first `keep`.
    size_t subscriptions() const;
    void unsubscribe(size_t keep);
    // Events may have other fields from now on.
    void forget_layouts();

    // Records of events: `batch`, which must stay where it is, is what consume() delivers from.
    void attach(RecordBatch& batch);
    // Hands the records [from, to) to the callbacks of their events, until batch.stop is set, and sets batch.next
    // behind each of them; takes those off batch.delivered that wait for a callback of many.
    Result<void> consume(uint32_t from, uint32_t to);

    // A prompt's inputs (prompt.cpp). `api` outlives the host.
    Result<void> open_prompt(PromptApi& api);
    // It can't be compiled, and more of it might make it whole.
    bool is_unfinished(const std::string& input);
    // "=x", a bare expression, or a chunk. Its values are kept until input_done().
    Result<void> run_input(const std::string& input, const std::string& name);
    // Whether it ran and what it declared is armed. What it shows; without success, globals hold nothing that it
    // declared, and again what was declared before.
    Result<std::string> input_done(bool well);
    // The names behind "ffi" or "p.targets", or all globals and keywords; what a variable is, or nothing.
    std::vector<std::string> names_behind(const std::string& path);
    std::string about_variable(const std::string& name);
    bool is_expression(const std::string& input);
    // Whether its code reads one of these globals.
    bool reads_global(const std::string& input, std::span<const std::string_view> names);
    // From a signal handler: what runs in Lua, or will next, ends with the error "interrupted", until calm().
    void interrupt() noexcept;
    void calm() noexcept;

    struct Impl;

  private:
    explicit LuaHost(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace kpl
