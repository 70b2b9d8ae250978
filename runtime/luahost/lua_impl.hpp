// SPDX-License-Identifier: MIT
// Private to luahost: the raw Lua API and the rules for crossing it.
//
// A C++ frame with destructors is never unwound by a Lua error: natives run their C++ in guarded(), which raises
// only after the body has returned; inside the body only calls that can't raise (but for exhausted memory) are
// made: raw access, pushes, and conversions of values whose type was checked.
#pragma once

#include <lua.hpp>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "luahost/host.hpp"

namespace kpl {

// Restores the stack's height.
class StackGuard {
  public:
    explicit StackGuard(lua_State* L) : L_(L), top_(lua_gettop(L)) {}
    StackGuard(const StackGuard&) = delete;
    StackGuard& operator=(const StackGuard&) = delete;
    ~StackGuard() { lua_settop(L_, top_); }

  private:
    lua_State* L_;
    int top_;
};

struct LuaHost::Impl {
    // A chunk of Lua code as it was loaded: its functions with what LuaJIT says about their captured locals.
    struct Chunk {
        std::string dump;
        std::shared_ptr<const Proto> proto;  // decoded when first needed
    };
    ScriptApi* api = nullptr;
    PromptApi* prompt = nullptr;  // null: there is none
    OpcodeMap opcodes{};
    std::vector<Chunk> chunks;
    lua_State* L = nullptr;  // of its own, or a thread in the state of the program
    bool owns_state = false;
    int thread = LUA_NOREF;    // of a thread
    int names = LUA_NOREF;     // the table of what `reg` names
    int core = LUA_NOREF;      // the table of native functions
    int globals = LUA_NOREF;   // what the chunks of lua/ have as their globals
    Impl** box = nullptr;      // what native functions find it by; null in it: closed
    bool in_chunk = false;     // a chunk's main part runs
    size_t subscriptions = 0;  // as lua/events.lua counts them
    std::string running;       // this LuaJIT, as LuaSide::compiled_by has it
    LuaHost::KeptErrors kept;

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();
    // Of the native function that runs; null: its session is closed.
    static Impl* of(lua_State* L) { return *static_cast<Impl**>(lua_touserdata(L, lua_upvalueindex(1))); }

    // Values that the host keeps, by number: in the registry of its own state; in a program's, in the table that join()
    // was given. A registry that held a function of the program's, which holds the session, would keep both for ever.
    void push_values(lua_State* on) const;
    int keep(lua_State* from);  // the value on top, which is popped
    void push_kept(lua_State* to, int number) const;
    void drop(int number);

    // Pushes a value of `reg`.
    void push(lua_State* to, const char* name) const {
        push_kept(to, names);
        lua_getfield(to, -1, name);
        lua_remove(to, -2);
    }
};

// The one owner of a value that a host keeps. Outlives nothing: the host ends last.
class LuaRef {
  public:
    LuaRef(LuaHost::Impl& host, lua_State* L, int index) : host_(host) {
        lua_pushvalue(L, index);
        number_ = host.keep(L);
    }
    LuaRef(const LuaRef&) = delete;
    LuaRef& operator=(const LuaRef&) = delete;
    ~LuaRef() { host_.drop(number_); }
    void push() const { host_.push_kept(host_.L, number_); }
    lua_State* state() const {
        return host_.L;
    }  // the host's own thread: that of a call may be a coroutine, which ends

  private:
    LuaHost::Impl& host_;
    int number_;
};

// What the chunks of lua/ leave for luahost. Each host has its own: one state may have several.
namespace reg {
inline constexpr const char* builtins = "builtins";  // function → its name in handlers
inline constexpr const char* map_class = "Map";      // metatables of the objects that handlers may capture
inline constexpr const char* shared_class = "Shared";
inline constexpr const char* event_class = "Event";
inline constexpr const char* probe_class = "Probe";
inline constexpr const char* attach = "attach";  // of lua/events.lua
inline constexpr const char* consume = "consume";
inline constexpr const char* unsubscribe = "unsubscribe";
inline constexpr const char* forget_layouts = "forget_layouts";
inline constexpr const char* prompt_run = "prompt_run";  // of lua/prompt.lua
inline constexpr const char* prompt_done = "prompt_done";
inline constexpr const char* prompt_names = "prompt_names";
inline constexpr const char* prompt_about = "prompt_about";
inline constexpr const char* vocabulary = "vocabulary";  // the names that scripts have
// These are the same for all hosts of a state, and in the registry itself, as "kpl.int64".
inline constexpr const char* int64 = "kpl.int64";  // (high, low) → int64_t cdata
inline constexpr const char* uint64 = "kpl.uint64";
inline constexpr const char* cdata_kind = "kpl.cdata_kind";  // cdata → "int64", "uint64", "ctype" or its type's name
inline constexpr const char* stack_class = "kpl.Stack";      // metatable of stacks
}  // namespace reg

// values.cpp
void push_datum(lua_State* L, const Datum& datum);
void push_int(lua_State* L, int64_t value);  // a number where a double is exact, else int64_t cdata
void push_uint(lua_State* L, uint64_t value);
std::string text_argument(lua_State* L, int index);      // all of a string; empty: it is none
std::optional<int64_t> to_int(lua_State* L, int index);  // numbers that are integers, and 64-bit cdata
Result<Datum> to_datum(lua_State* L, int index);         // what may stand in a key: nil, boolean, integer, string
std::string cdata_kind(lua_State* L, int index);

// capture.cpp
Captured capture(LuaHost::Impl& host, lua_State* L, int index, const std::string& name);
FunctionPtr function_ref(LuaHost::Impl& host, lua_State* L, int index);
void remember_chunk(LuaHost::Impl& host, lua_State* L);  // the chunk on top of the stack
bool chunk_reads_global(const LuaHost::Impl& host, lua_State* L, std::span<const std::string_view> names);  // that one

// events.cpp: native functions for lua/events.lua
int record_layout(lua_State* L);
int symbol_name(lua_State* L);
int frame_name(lua_State* L);
int batch_room(lua_State* L);
int count_subscriptions(lua_State* L);
int named_number(lua_State* L);
int inet_name(lua_State* L);
int user_name(lua_State* L);

// maps.cpp
extern const luaL_Reg* const map_functions;

// system.cpp
int list_probes(lua_State* L);
int list_blacklist(lua_State* L);
int list_functions(lua_State* L);
int list_instructions(lua_State* L);

// medium.cpp: where text goes, and what the kernel has
int medium(lua_State* L);
int emit_row(lua_State* L);
int has_function(lua_State* L);
int has_field(lua_State* L);

// prompt.cpp: native functions for lua/prompt.lua
int prompt_ask(lua_State* L);
int prompt_declared(lua_State* L);
int prompt_describe(lua_State* L);

// A file of lua/, as lua/embed.lua writes it. `compiled_by`: LuaJIT's version and the names of its opcodes.
struct LuaSide {
    std::span<const unsigned char> source, bytecode;
    std::string_view compiled_by;
};
// host.cpp: runs such a file with the native functions and the table of what `reg` names.
Result<void> run_side(LuaHost::Impl& impl, const LuaSide& side);

// api.cpp: counts as a table.
void push_counts(lua_State* L, const kpl_counts& counts);

// api.cpp: pushes the table of native functions that lua/kprobe.lua is given. The box of their host is on top of the
// stack, and stays there.
void push_core(lua_State* L);

// Calls the function below `args` arguments on the stack; pops them all. `results` are left on success. `handler`: of
// errors, else message_handler.
Result<void> protected_call(lua_State* L, int args, int results, int (*handler)(lua_State*) = nullptr);

// "file:line: " of the script's call that led to a native function, or nothing.
std::string script_line(lua_State* L);

template <class Body>
int guarded(lua_State* L, Body&& body) {
    {
        LuaHost::Impl* const host = LuaHost::Impl::of(L);
        Result<int> result = host ? body(*host) : Result<int>(Error{Errc::script, "the session is closed"});
        if (result.ok()) return result.value();
        const Error& error = result.error();
        const bool placed = !error.at.file.empty() || error.text.find('\n') != std::string::npos;
        const std::string message = (placed ? "" : script_line(L)) + error.message();
        lua_pushlstring(L, message.data(), message.size());
    }
    return lua_error(L);
}

}  // namespace kpl
