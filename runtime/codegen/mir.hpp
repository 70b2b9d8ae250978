// SPDX-License-Identifier: MIT
// The machine form of a handler between IR and bytecode: eBPF instructions in blocks, over as many registers
// as it takes. lower.hpp makes it, allocate.hpp gives each value a register, emit.hpp writes it out.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ir/ir.hpp"

namespace kpl::mir {

// 0 to 10 are the machine's registers; from first_virtual on, those that allocation replaces.
using Reg = uint32_t;
using BlockId = uint32_t;
inline constexpr Reg frame = 10, first_virtual = 16, no_reg = ~0u;
inline constexpr uint32_t no_site = ~0u;

inline bool is_virtual(Reg reg) { return reg != no_reg && reg >= first_virtual; }

enum class Kind : uint8_t {
    MovImm,   // dst = imm, 64 bits
    Mov,      // dst = a
    Alu,      // dst = dst `op` b; BPF_NEG has no b
    Zext32,   // dst = the low 32 bits of a
    Load,     // dst = `size` bytes at a + off
    Store,    // `size` bytes at a + off = b
    LoadMap,  // dst = map imm
    Call,     // r0 = helper imm (r1, …); r1 to r5 are lost
    CondMov,  // unless a `cmp` b: dst = c
    Trap,     // if a is not 0, the handler stops for reason a at the call of the same site
    Reload,   // dst = spill slot `off`
    Spill,    // spill slot `off` = b
    // The last instruction of a block, and only that.
    Jump,    // to yes
    Branch,  // if a `cmp` b to yes, else to no
    Ret,     // the handler ends with result imm
    Stop,    // the handler stops for reason imm
};

// What a register holds. Pointers are never spilled: the profile has no memory for them.
enum class Holds : uint8_t { Nothing, Number, Hit, Pointer };

// ir::Cmp, and one test more: a and b have a common bit.
enum class Test : uint8_t { Eq, Ne, SLt, SLe, SGt, SGe, ULt, ULe, UGt, UGe, Bits };

// `b` is the number imm where it is no_reg; `c` likewise imm2.
struct Inst {
    Kind kind;
    uint8_t op = 0;       // Alu: BPF_ADD and so on
    uint8_t size = 8;     // Load, Store: bytes
    bool narrow = false;  // tests: on 32 bits
    Test cmp = Test::Eq;
    Reg dst = no_reg, a = no_reg, b = no_reg, c = no_reg;
    int32_t off = 0;
    int64_t imm = 0;
    int64_t imm2 = 0;
    BlockId yes = 0, no = 0;
    uint32_t site = no_site;  // Call, Trap: which belong together
    uint32_t note = 0;        // index in Function::notes
};

struct Block {
    std::vector<Inst> insts;
    uint32_t depth = 0;  // of loops around it
    bool cold = false;   // leads only to stops
    // What is live at its start, once registers are allocated: what r0 to r8 hold, and spill slots by bit.
    std::array<Holds, 9> entry{};
    uint64_t entry_slots = 0;
};

struct VReg {
    Holds holds = Holds::Number;
    bool spillable = true;
};

// The line of the script that instructions come from.
struct Note {
    SourceLoc at;
    std::string what;
    bool operator==(const Note&) const = default;
};

struct Function {
    std::vector<Block> blocks;
    std::vector<BlockId> layout;  // program order
    std::vector<VReg> vregs;      // of register first_virtual + index
    std::vector<Note> notes;
    uint32_t areas = 0;        // bytes at the top of the frame that hold keys and values
    uint32_t spill_slots = 0;  // of 8 bytes, below the areas; allocation lets them share memory
    uint32_t scratch_size = 0;
    uint32_t sites = 0;

    Reg new_vreg(Holds holds = Holds::Number) {
        vregs.push_back({holds, holds == Holds::Number});
        return first_virtual + static_cast<Reg>(vregs.size()) - 1;
    }
    VReg& vreg(Reg reg) { return vregs[reg - first_virtual]; }
    const VReg& vreg(Reg reg) const { return vregs[reg - first_virtual]; }
};

// Those of the IR come first, in its order.
constexpr Test as_test(ir::Cmp cmp) { return static_cast<Test>(cmp); }
static_assert(as_test(ir::Cmp::Eq) == Test::Eq && as_test(ir::Cmp::SLt) == Test::SLt &&
              as_test(ir::Cmp::UGe) == Test::UGe);
// The test that holds when `test` does not; Bits has none.
Test inverse(Test test);
// The test on swapped operands.
Test swapped(Test test);

inline bool is_terminator(Kind kind) { return kind >= Kind::Jump; }
inline bool fits_s32(int64_t value) { return value == static_cast<int32_t>(value); }

// Does the instruction read its dst too?
inline bool reads_dst(const Inst& inst) { return inst.kind == Kind::Alu || inst.kind == Kind::CondMov; }
// Does `next` go on with what `inst` computes? A chain of such instructions is one computation in steps.
inline bool continues(const Inst& inst, const Inst& next) { return reads_dst(next) && next.dst == inst.dst; }
// Nothing but dst comes of it.
bool is_pure(const Inst& inst);

// Calls f(Reg&) for each register that the instruction reads, but those of a call's arguments.
template <class I, class F>
void for_each_use(I& inst, F f) {
    if (reads_dst(inst)) f(inst.dst);
    if (inst.a != no_reg) f(inst.a);
    if (inst.b != no_reg) f(inst.b);
    if (inst.c != no_reg) f(inst.c);
}

// Where control goes from the end of a block.
template <class F>
void for_each_successor(const Block& block, F f) {
    const Inst& end = block.insts.back();
    if (end.kind == Kind::Jump || end.kind == Kind::Branch) f(end.yes);
    if (end.kind == Kind::Branch) f(end.no);
}

}  // namespace kpl::mir
