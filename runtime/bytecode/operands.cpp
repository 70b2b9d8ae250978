// SPDX-License-Identifier: MIT
#include "bytecode/operands.hpp"

#include <fmt/format.h>

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
        case Mode::Lits:
            return true;
        case Mode::Dst:
        case Mode::Var:
            return value < f.frame_size;
        // The first free slot, which may be one past the last.
        case Mode::Base:
        case Mode::Rbase:
            return value <= f.frame_size;
        case Mode::Uv:
            return value < f.upvalues.size();
        case Mode::Pri:
            return value <= 2;
        case Mode::Num:
            return value < f.num.size();
        case Mode::Str:
            return constant_is<std::string>(f, value);
        case Mode::Tab:
            return constant_is<TableTemplate>(f, value);
        case Mode::Func:
            return constant_is<std::shared_ptr<const Proto>>(f, value);
        case Mode::Cdata:
            return constant_is<int64_t, uint64_t, Complex>(f, value);
        case Mode::Jump: {
            int64_t target = static_cast<int64_t>(pc) + 1 + static_cast<int64_t>(value) - 0x8000;
            return target >= 1 && target < static_cast<int64_t>(f.code.size());
        }
    }
    return false;
}

}  // namespace

std::string check_operands(const Proto& f) {
    for (uint32_t pc = 1; pc < f.code.size(); pc++) {
        const Insn& insn = f.code[pc];
        const OpModes& modes = op_modes(insn.op);
        if (!fits(f, pc, modes.a, insn.a) || !fits(f, pc, modes.b, insn.b) || !fits(f, pc, modes.cd, insn.c))
            return fmt::format("an operand of {} at {} is out of range", op_name(insn.op), pc);
    }
    return {};
}

}  // namespace kpl
