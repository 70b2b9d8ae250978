// SPDX-License-Identifier: MIT
// What a slot of a Lua function holds while its code is turned into IR: a type, and where the value is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/capture.hpp"
#include "ir/ir.hpp"
#include "symbols/types.hpp"

namespace kpl::builder {

enum class Kind : uint8_t {
    Undefined,  // never written
    Poison,     // an error was reported, or a shape is not known in this round
    Nil,
    // Run-time values: these meet at joins and can be stored.
    Bool,
    Int,
    Pointer,
    String,
    Stack,
    List,  // that a handler makes
    Inet,  // an internet address
    UserSymbol,
    Snapshot,
    // Kernel memory of an aggregate C type (struct, union, array), not read yet.
    Memory,
    // What exists only while compiling.
    Hit,
    Args,
    ArgNumbers,
    Regs,
    Data,
    Map,
    Cell,
    Event,
    Builtin,
    Method,
    Function,
    Record,
    Table,
    Float,
    Opaque,
};

// How user space shows an integer.
enum class Shows : uint8_t { Plain, Address, Symbol, Named };

// Whose memory an address is in. What is unknown is read as the kernel's, and told at run time when it is not.
// Where addresses meet, the later one wins.
enum class Space : uint8_t { Kernel, Unknown, User };

struct Type {
    Kind kind = Kind::Undefined;
    bool nilable = false;
    bool is_unsigned = false;        // Int
    bool user = false;               // Stack: of user space
    Shows shows = Shows::Plain;      // Int
    TypeId ctype = 0;                // Pointer: its target; Memory: the type itself
    Space space = Space::Unknown;    // Pointer, Memory
    uint32_t naming = 0;             // Shows::Named: index in Unit::namings
    Kind element = Kind::Undefined;  // List: what is in it; the other members describe that, but for limit
    uint32_t limit = 0;              // String, List, Inet, UserSymbol: bytes; Stack: frames
    uint32_t map = 0;                // Snapshot: whose value it is
    bool operator==(const Type&) const = default;
};

// Kept as bytes with a length, in a slot or in private data.
inline bool is_bytes(const Type& t) {
    return t.kind == Kind::String || t.kind == Kind::Stack || t.kind == Kind::List || t.kind == Kind::Inet ||
           t.kind == Kind::UserSymbol;
}

// Its bytes stay where they are: two of them can't become one.
inline bool stays_in_place(const Type& t) {
    return t.kind == Kind::Snapshot || (is_bytes(t) && t.kind != Kind::String);
}

inline constexpr Type bool_type{Kind::Bool};
inline constexpr Type int_type{Kind::Int};
inline constexpr Type uint_type{.kind = Kind::Int, .is_unsigned = true};

struct Value;

// A Lua function: a captured one, or a local one whose captured values are known.
struct FunctionValue {
    std::shared_ptr<const FunctionRef> ref;  // captured; else:
    std::shared_ptr<const Proto> proto;
    std::vector<Value> upvalues;
    std::shared_ptr<const FunctionValue> parent;  // whose globals it sees
};

struct Value {
    Type type{};
    ir::ValueId id = ir::no_value;       // Bool, Int, Pointer: the number; Memory: the address it is relative to
    ir::ValueId present = ir::no_value;  // nil-able: 1 or 0
    std::optional<int64_t> constant{};   // Bool, Int: known while compiling; then `id` is unused
    int64_t offset = 0;                  // Memory: bytes after `id`
    ir::StrRef str{};                    // String, Stack
    bool literal = false;                // String: `text` holds its bytes
    uint32_t index = 0;   // Map, Cell, Event, Record: which; Snapshot: its slot; Nil, Opaque: a mark below, or 0
    std::string text{};   // Builtin, Method: name; Float, Opaque: what it is; else the path for messages
    std::string field{};  // nil-able: what State::there says of every read of the same field
    std::shared_ptr<const FunctionValue> function{};
    std::shared_ptr<const TableRef> table{};
    std::shared_ptr<const std::vector<Value>> key{};  // Cell

    Kind kind() const { return type.kind; }
    bool is(Kind k) const { return type.kind == k; }
    bool is_int() const { return type.kind == Kind::Int && !type.nilable; }
    bool is_poison() const { return type.kind == Kind::Poison || type.kind == Kind::Undefined; }
};

// Value::index of nil that is a name without a meaning, and of a function that its own code names.
inline constexpr uint32_t never_defined = 1, calls_itself = 2;

// The same value, not merely an equal one.
bool same(const Value& a, const Value& b);

Value poison();
Value nil_value();
Value bool_constant(bool b);
Value int_constant(int64_t n, bool is_unsigned = false);
Value number(ir::ValueId id, Type type);
Value memory(ir::ValueId base, int64_t offset, TypeId type, Space space, std::string path);
Value named(Kind kind, std::string text = {}, uint32_t index = 0);
// The function that reads a string there.
const char* str_reader(const Value& v);
// The value without nil: what a successful test makes of it.
Value without_nil(Value v);

// A table constructor's content so far.
struct RecordState {
    std::map<std::string, Value> fields;
    std::map<int64_t, Value> elements;
    SourceLoc at;
    std::string site;  // in UnitState::lists, when it turns out to be a list
};

// Everything that differs between the paths that lead to one place.
struct State {
    std::vector<Value> slots;
    std::map<uint32_t, RecordState> records;  // by Value::index of Kind::Record
    std::set<std::string> stored;             // fields of p.data that every path has stored
    std::set<std::string> there;              // fields (Value::field) that every path has found not to be nil
    std::vector<Value> open;                  // results of a call with an open count
};

}  // namespace kpl::builder
