// SPDX-License-Identifier: MIT
// Where the slots, keys and values of a handler lie: in scratch memory, or at the top of the stack frame.
#pragma once

#include <optional>
#include <vector>

#include "codegen/uses.hpp"
#include "ir/ir.hpp"

namespace kpl {

// Memory that a key or a value is built in.
struct Memory {
    enum class Where : uint8_t {
        Nowhere,  // no bytes at all
        Stack,    // offset is negative, from r10
        Scratch,
        Comm,  // the whole key is what comm() gives, and nothing else needs it: the helper looks there itself
    } where = Where::Nowhere;
    int32_t offset = 0;
    int in_place = -1;  // index of the field whose string is written there by its own helper
};

struct MemoryLayout {
    std::vector<uint32_t> slot;  // by SlotId: offset in scratch
    std::vector<bool> unused;    // by SlotId: nothing looks there
    // By SlotId: the call of str whose string a record reads itself; no_value: none. The slot is then unused.
    std::vector<ir::ValueId> reader;
    std::vector<Memory> key;  // by ValueId of the instruction
    std::vector<Memory> value;
    uint32_t scratch_size = 0;
    uint32_t stack_size = 0;  // bytes below r10
};

// `uses`: of the function's values, by find_uses().
MemoryLayout assign_memory(const ir::Function& function, const std::vector<Uses>& uses);

// Literal fields up to this size are stored as numbers; longer ones are copied from their slot.
inline constexpr uint32_t max_inline_literal = 128;

// The bytes of a field whose string is a literal to be stored as numbers; nullptr for every other field.
const std::string* inline_literal(const ir::Function& function, const ir::FieldStore& field);

// Bytes that a field takes in a key or a value.
uint32_t field_size(const ir::FieldStore& field);

}  // namespace kpl
