// SPDX-License-Identifier: MIT
// A unit: everything that is compiled together, because its handlers share events, maps and instance data.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arch/arch.hpp"
#include "arch/mark_args.hpp"
#include "base/result.hpp"
#include "ir/capture.hpp"
#include "ir/ir.hpp"
#include "symbols/types.hpp"
#include "uapi/kprobe_lua.h"

namespace kpl {

// How user space makes the text of a number that a handler carried out.
struct Naming {
    enum class What : uint8_t { Errno, Signal, Syscall, Cgroup, Time, Enum };
    What what = What::Errno;
    std::string detail;                    // Time: strftime's format; Enum: its type
    std::map<int64_t, std::string> names;  // Enum
};

// ---- what a field holds, as user space decodes it
enum class FieldKind : uint8_t {
    I64,
    U64,
    Bool,
    Pointer,  // prints as 0x…
    Named,    // a number that prints as FieldLayout::naming says
    Symbol,   // an address that prints as name+0x…; p.func prints the bare name
    String,   // records: struct kpl_rec_str; keys, values, data: struct kpl_str of `limit`
    Kstack,
    // limit = frames; records: struct kpl_rec_str over an array of u64 addresses. Of a process's, the first word is the
    // space that they belong to (kpl_space()).
    Ustack,
    UserSymbol,  // the same with one frame; prints as its name
    Inet,        // an internet address: its family in 8 bytes, then 16 bytes; prints as inet_ntop has it
    List,        // of FieldLayout::element, as helpers.def packs them; where a string would be. limit = bytes
};

// Bytes with a length, not a number.
inline bool is_bytes(FieldKind kind) { return kind >= FieldKind::String; }

// FieldLayout::pointee of an integer that is shown as an address (p.ip).
inline constexpr uint32_t integer_address = ~0u;

struct FieldLayout {
    std::string name;  // "" for the single unnamed element of a key; "1", "2"… for tuple elements
    FieldKind kind = FieldKind::I64;
    uint32_t offset = 0;                   // bytes; numbers take 8, strings KPL_STR_SIZE(limit) or struct kpl_rec_str
    uint32_t limit = 0;                    // strings, stacks, lists
    FieldKind element = FieldKind::I64;    // List
    std::shared_ptr<const Naming> naming;  // Named, or a list of such
    uint32_t pointee = 0;  // Pointer: the C type that it points to (TypeId), 0 for void; or integer_address
    bool user = false;     // Pointer: into the process's memory
    bool nilable = false;  // a presence bit says whether it is there: bit `index` of the u64 at presence_offset
};

// How many bytes a string, stack or list takes at most.
inline uint32_t most_bytes(const FieldLayout& f) {
    if (f.kind == FieldKind::Kstack) return f.limit * 8;
    return f.kind == FieldKind::Ustack ? f.limit * 8 + 8 : f.limit;
}

// Fields in the order in which they print. Laid out by the builder once all stores are unified.
struct Layout {
    std::vector<FieldLayout> fields;
    uint32_t size = 0;             // bytes of the fixed part, key, value or data
    int32_t presence_offset = -1;  // of the u64 with presence bits (bit = index in fields); -1: nothing is nil-able
};

// Of a key: kpl_map_create's key_string.
inline uint32_t key_string(const Layout& key) {
    if (key.fields.empty() || key.fields.back().kind != FieldKind::String) return 0;
    return 1 + key.fields.back().offset / 8;
}

// ---- declarations: filled in by luahost
struct MapDecl {
    std::string name;  // the local's name, for messages and JSON; may be empty
    kpl_map_kind kind = KPL_MAP_COUNT;
    uint32_t max = 0;  // 0: default
    int64_t lo = 0, hi = 0, step = 0;
    SourceLoc at;
    std::vector<FieldLayout> declared_key, declared_value;  // map{key=, value=}: only kinds, names, limits
    // out, by the builder:
    bool keyed = false;         // aggregations: used as m[k]:add(); HASH: always
    bool tuple_key = false;     // the key was written as a table
    bool struct_value = false;  // the value was written as a table
    bool fixed = false;         // compiled handlers use it: what comes later must fit the layouts
    Layout key, value;
};

struct EventDecl {
    std::string name;
    std::vector<std::string> order;  // event{"pid","comm"}
    SourceLoc at;
    // out, by the builder:
    bool fixed = false;  // as MapDecl::fixed
    Layout record;
};

// printf and print become events of their own. out, by the builder.
struct PrintfDecl {
    std::string format;  // print(): empty, values are joined by tabs and end in a newline
    bool is_print = false;
    SourceLoc at;
    Layout record;
};

// Where a handler finds what the probed code passes.
enum class Passed : uint8_t {
    Registers,  // by the kernel's calling convention, and on the stack
    Values,     // one after the other in the hit's data, whatever their types
    Nothing,
    UserRegisters,  // those with which the task came into the kernel, in the order of HandlerDecl::way
    Described,      // where HandlerDecl::marked says
};

struct HandlerDecl {
    std::string name;  // "script.lua:14 entry of do_sys_openat2", for messages
    std::shared_ptr<const FunctionRef> function;
    kpl_prog_kind kind = KPL_PROG_PRE;
    bool mirrors = false;             // jprobe: parameters are the probed function's, without `p`
    bool at_function_entry = true;    // else parameters can't be typed
    const char* probed = "function";  // what the probe stands at, for messages
    Passed passed = Passed::Registers;
    const SyscallWay* way = nullptr;
    bool any_way = false;                // of 32 bits, too: one function has all calls
    std::optional<Signature> signature;  // of what is probed; none: BTF does not know it
    std::string variant;        // the probed function, if the compiler made it of another one; it has no signature
    std::string function_name;  // for messages
    std::shared_ptr<const std::vector<MarkArg>> marked{};
    uint32_t returns = KPL_RETURNS_ANY;  // what it is marked for
    std::string no_override;             // why it can't be left out; empty: nothing is known against it
    int data_group = -1;                 // handlers with the same number share p.data: entry and ret of a kretprobe
    uint32_t budget = 0;
    // What the probed code passes comes from the process: pointers among the parameters, and what is read through
    // them, are the process's. For system calls and probes of processes.
    bool user_pointers = false;
    std::optional<uint32_t> declared_data;  // data= of the declaration: bytes at most
};

struct Unit {
    std::vector<MapDecl> maps;        // index = map id in the module
    std::vector<EventDecl> events;    // record.event = index
    std::vector<PrintfDecl> printfs;  // record.event = 0x10000 + index
    std::vector<HandlerDecl> handlers;
    std::vector<Layout> data;                            // out: by data group
    std::vector<std::shared_ptr<const Naming>> namings;  // out: all that handlers use
    size_t built = 0;                                    // out: the handlers below were built; they are not built again
};
inline constexpr uint32_t kpl_printf_event = 0x10000;

struct BuildOptions {
    const Arch* arch = nullptr;
    uint32_t rights = 0;                                                      // KPL_RIGHT_*: of the run
    uint32_t string_limit = 255;                                              // of str and ustr without a size
    std::function<Result<uint64_t>(const std::string&)> symbol_address = {};  // for kaddr and kvar
};

struct Warning {
    SourceLoc at;
    std::string text;
};

// The handlers from Unit::built on to IR, one Function for each, in order, optimized. All type errors of all handlers
// are in the Error's text, one `file:line: what` each, joined by newlines, in order of line (Error::at is empty then).
// `unit` may be extended and built again (REPL, probes declared later): what earlier handlers use keeps its layout and
// only accepts what fits.
struct BuildResult {
    std::vector<ir::Function> functions;  // [0] is of the handler Unit::built was at before
    std::vector<Warning> warnings;
};
Result<BuildResult> build(Unit& unit, Types& types, const BuildOptions& options);

}  // namespace kpl
