// SPDX-License-Identifier: MIT
#include "bytecode/check_code.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bytecode/flow.hpp"

namespace kpl {
namespace {

template <class... Kinds>
bool constant_is(const Proto& f, uint32_t index) {
    return index < f.gc.size() && (std::holds_alternative<Kinds>(f.gc[index]) || ...);
}

bool fits(const Proto& f, uint32_t pc, Mode mode, uint32_t value) {
    switch (mode) {
        case Mode::None:
        case Mode::Lit:
        case Mode::Lits: return true;
        case Mode::Dst:
        case Mode::Var: return value < f.frame_size;
        // The first free slot, which may be one past the last.
        case Mode::Base:
        case Mode::Rbase: return value <= f.frame_size;
        case Mode::Uv: return value < f.upvalues.size();
        case Mode::Pri: return value <= 2;
        case Mode::Num: return value < f.num.size();
        case Mode::Str: return constant_is<std::string>(f, value);
        case Mode::Tab: return constant_is<TableTemplate>(f, value);
        case Mode::Func: return constant_is<std::shared_ptr<const Proto>>(f, value);
        case Mode::Cdata: return constant_is<int64_t, uint64_t, Complex>(f, value);
        case Mode::Jump: {
            int64_t target = static_cast<int64_t>(pc) + 1 + static_cast<int64_t>(value) - 0x8000;
            return target >= 1 && target < static_cast<int64_t>(f.code.size());
        }
    }
    return false;
}

// The last slot of the range that begins at A, where more than A is read or written; -1 where A is all or its
// mode says enough. Two-slot frames: a call's function is at A, its arguments are from A + 2 on.
int last_of_range(const Insn& insn) {
    const int a = insn.a, b = insn.b, c = insn.c;
    switch (insn.op) {
        case Op::KNIL: return c;
        case Op::CAT: return c;
        case Op::CALL: return std::max(a + std::max(1, c), a + b - 2);
        case Op::CALLT: return a + std::max(1, c);
        case Op::CALLM: return std::max(a + 1 + c, a + b - 2);
        case Op::CALLMT: return a + 1 + c;
        case Op::ITERC:
        case Op::ITERN: return std::max(a + 3, a + b - 2);
        case Op::VARG: return a + b - 2;
        case Op::RET:
        case Op::RET1: return a + c - 2;
        case Op::RETM: return a + c - 1;
        case Op::FORI:
        case Op::FORL: return a + 3;
        default: return -1;
    }
}

// A generic loop's function, state and control are in the three slots below A; TSETM's table is in the one
// below.
int slots_below(Op op) {
    switch (op) {
        case Op::ITERC:
        case Op::ITERN:
        case Op::ITERL:
        case Op::ISNEXT: return 3;
        case Op::TSETM: return 1;
        default: return 0;
    }
}

std::string wrong_at(const Proto& f, uint32_t pc) {
    const Insn& insn = f.code[pc];
    const OpModes& modes = op_modes(insn.op);
    if (!fits(f, pc, modes.a, insn.a) || !fits(f, pc, modes.b, insn.b) || !fits(f, pc, modes.cd, insn.c))
        return "an operand is out of range";
    if (last_of_range(insn) >= f.frame_size || insn.a < slots_below(insn.op)) return "it leaves the frame";
    if ((insn.op == Op::KNIL && insn.c < insn.a) || (insn.op == Op::CAT && insn.c < insn.b))
        return "its range is reversed";
    if (is_conditional(insn.op) && (pc + 1 == f.code.size() || f.code[pc + 1].op != Op::JMP)) return "no jump follows";
    if (pc + 1 == f.code.size() && !ends_function(insn.op)) return "the function has no end";
    return {};
}

}  // namespace

std::string check_code(const Proto& f) {
    if (f.code.size() < 2) return "a function without instructions";
    if (f.num_params > f.frame_size) return "more parameters than slots";
    for (uint32_t pc = 1; pc < f.code.size(); pc++)
        if (std::string wrong = wrong_at(f, pc); !wrong.empty())
            return fmt::format("{} at {}: {}", op_name(f.code[pc].op), pc, wrong);
    return {};
}

}  // namespace kpl
