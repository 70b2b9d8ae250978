// SPDX-License-Identifier: MIT
// The compiler's intermediate form: SSA over 64-bit numbers, plus memory slots.
//
// The builder (build.hpp) has resolved everything of Lua and C by now: field chains are reads at offsets, a
// nil-able value is two numbers (value, present), a bool is 0 or 1, a string is a slot of scratch memory.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "uapi/kprobe_lua.h"

namespace kpl::ir {

using ValueId = uint32_t;
using BlockId = uint32_t;
using SlotId = uint32_t;
inline constexpr ValueId no_value = ~0u;

// Every instruction yields at most one 64-bit number, named by its index in Function::insts.
enum class Opcode : uint8_t {
    Const,  // imm
    Phi,    // args: one value for each predecessor of its block, in their order
    // The hit.
    HitField,  // imm: offset in struct kpl_hit
    Reg,       // imm: offset in struct pt_regs
    // Arithmetic on 64 bits, wrapping. Div and Mod: the builder has put the test for 0 before them.
    Add,
    Sub,
    Mul,
    UDiv,
    UMod,
    SDiv,
    SMod,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Sar,
    Neg,
    Not,
    SExt,  // args[0] sign-extended from imm bits (8, 16, 32)
    ZExt,  // args[0] zero-extended from imm bits (8, 16, 32)
    // Comparison as a value, 0 or 1. `cmp` says which.
    Compare,
    Select,  // args: condition (0 or not), value if not 0, value if 0
    // Memory of the kernel: imm bytes (1, 2, 4, 8) at address args[0], zero-extended.
    // Stops the handler when the address is bad; in a soft read, the handler goes on and the value is 0:
    // SoftRead yields the value and sets the status that the next StatusClear yields.
    Read,
    SoftRead,
    StatusClear,
    // Private data of the return instance.
    LoadData,   // imm: offset, 8 bytes
    StoreData,  // imm: offset, args[0]
    // Registers, as Reg, in a handler that changes some.
    LoadReg,   // imm: offset, as it is now
    StoreReg,  // imm: offset, args[0]
    // Slots.
    LoadSlot,   // 8 bytes at imm of `slot`
    StoreSlot,  // 8 bytes at imm of `slot`, args[0]
    // A call of a helper that needs none of the forms below; operands in `operands`.
    Call,  // helper; yields r0. `stops`: the handler stops when the helper sets the status
    // What leaves the handler. Operands in `fields`.
    Emit,       // a record of event `imm`: fixed part `size` bytes
    AggAdd,     // map imm, key in fields, args[0] = n
    MapGet,     // map imm, key in fields; the value is copied to `slot`; yields 1 or 0
    MapSet,     // map imm, key in fields, value in value_fields
    MapDelete,  // map imm, key in fields
    MapAdd,     // map imm, key in fields, args[0] = n
};

enum class Cmp : uint8_t { Eq, Ne, SLt, SLe, SGt, SGe, ULt, ULe, UGt, UGe };

// Where a string lies: a slot in scratch, or instance data (offset). A literal has a slot that the code fills.
struct StrRef {
    enum class Where : uint8_t { Slot, Data } where = Where::Slot;
    uint32_t index = 0;   // slot id, or offset in instance data
    uint32_t limit = 0;   // bytes
    uint32_t offset = 0;  // Slot: where in the slot the string begins (a string field of a copied map value)
    bool operator==(const StrRef&) const = default;
};

// One field of a record, a key or a value: a number, or a string.
struct FieldStore {
    uint32_t offset = 0;                                  // in the fixed part, the key or the value
    std::variant<ValueId, StrRef, std::monostate> value;  // monostate: nil (zeros)
    uint32_t limit = 0;                                   // of the field, for strings in keys and values
};

// An operand of Call, in the order of helpers.def. CONST sizes are given as numbers.
struct ConstOperand {
    int64_t value;
};
struct HitOperand {};
struct StrOperand {
    StrRef str;
};  // stands for the pointer; its limit is the following ConstOperand
struct SlotOperand {
    SlotId slot;
    uint32_t offset;
};  // WMEM, RMEM
using Operand = std::variant<ValueId, ConstOperand, HitOperand, StrOperand, SlotOperand>;

struct Inst {
    Opcode op;
    Cmp cmp = Cmp::Eq;
    bool stops = false;
    bool soft = false;  // MapGet: a string that is too long for the key sets the status, and does not stop the handler
    kpl_helper helper = KPL_H_END_;
    int64_t imm = 0;
    uint32_t size = 0;         // Emit: fixed size; AggAdd and Map*: key size
    uint32_t value_size = 0;   // MapSet
    bool string_ends = false;  // of AggAdd and Map*: the key, and what stands behind that string does not matter
    SlotId slot = 0;
    std::vector<ValueId> args{};
    std::vector<Operand> operands{};
    std::vector<FieldStore> fields{};
    std::vector<FieldStore> value_fields{};
    SourceLoc at{};
    std::string what{};  // "dentry->d_name": what a stop here was doing
    BlockId block = 0;
};

// How a block ends.
struct Jump {
    BlockId to;
};
struct Branch {
    Cmp cmp;
    ValueId a, b;
    BlockId yes, no;
};
struct Return {
    bool skip;
};  // skip: `return false` from entry
struct Stop {
    kpl_stop reason;
};
using Terminator = std::variant<Jump, Branch, Return, Stop>;

struct Block {
    std::vector<ValueId> insts;  // phis first
    std::vector<BlockId> preds;  // order matters for phis
    Terminator end = Return{false};
    SourceLoc at;  // of the terminator
    std::string what;
    bool loop_head = false;  // a backward jump reaches it
};

// Scratch memory: every string, literal and copied value owns one.
struct Slot {
    uint32_t size = 0;    // bytes, a multiple of 8; KPL_STR_SIZE(limit) for strings
    std::string literal;  // for string literals: the bytes
    bool is_literal = false;
};

// blocks[0] is the entry; blocks are in an order in which every block but loop heads follows its predecessors
// (reverse post order), so that only backward edges are loops.
struct Function {
    std::string name;
    kpl_prog_kind kind = KPL_PROG_PRE;
    uint32_t data_size = 0;
    uint32_t budget = 0;
    std::vector<Inst> insts;  // indexed by ValueId
    std::vector<Block> blocks;
    std::vector<Slot> slots;
};

std::string print(const Function&);  // stage `ir` of -d
// Broken invariants as text; empty when sound. Run after the builder and after each pass in tests and debug builds.
std::string check(const Function&);

// Blocks into reverse post order with loops contiguous; unreachable ones are dropped; sets Block::loop_head.
void order_blocks(Function&);

// Passes, each one thing; run in this order by optimize(). They keep check() empty.
void fold_constants(Function&);
void remove_common_subexpressions(Function&);  // also: two reads of the same address with nothing between
void remove_dead_code(Function&);
void optimize(Function&);

}  // namespace kpl::ir
