// SPDX-License-Identifier: MIT
// What a handler captures: live Lua values as the compiler sees them. luahost implements the references.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "bytecode/proto.hpp"

namespace kpl {

struct FunctionRef;
struct TableRef;

// Objects that scripts declare, by their number within one Unit.
struct MapRef {
    uint32_t id;
};
struct EventRef {
    uint32_t id;
};
// A function of the handler language: "pid", "str", "bit.band", "ffi.cast", "printf", "event"…
struct BuiltinRef {
    std::string name;
};
// A ctype object from ffi.typeof, or a value that no handler can use: `type` names it for the message.
struct OpaqueRef {
    std::string type;
};

using Captured = std::variant<Nil, bool, double, int64_t, uint64_t, std::string, MapRef, EventRef, BuiltinRef,
                              OpaqueRef, std::shared_ptr<const FunctionRef>, std::shared_ptr<const TableRef>>;

struct TableRef {
    virtual ~TableRef() = default;
    virtual Captured get(const std::string& key) const = 0;  // Nil if absent; no metamethods
    virtual Captured get(int64_t index) const = 0;
    virtual const void* identity() const = 0;
};

// A Lua closure: its code and the values of its upvalues at the time of compiling.
struct FunctionRef {
    virtual ~FunctionRef() = default;
    virtual Result<std::shared_ptr<const Proto>> proto() const = 0;  // error: a C function has no Lua code
    virtual Captured upvalue(uint32_t index) const = 0;
    virtual Captured global(const std::string& name) const = 0;  // through the function's environment
    virtual const void* identity() const = 0;
};

}  // namespace kpl
