// SPDX-License-Identifier: MIT
#include "bytecode/flow.hpp"

namespace kpl {
namespace {

// Jumps, and then never falls through.
bool jumps_always(Op op) { return op == Op::JMP || op == Op::UCLO || op == Op::ISNEXT; }

// May jump, else falls through (LOOP's operand is a hint for the JIT, no jump).
bool jumps_or_falls(Op op) { return op == Op::FORI || op == Op::FORL || op == Op::ITERL; }

}  // namespace

bool ends_function(Op op) {
    switch (op) {
        case Op::RET:
        case Op::RET0:
        case Op::RET1:
        case Op::RETM:
        case Op::CALLT:
        case Op::CALLMT: return true;
        default: return false;
    }
}

bool is_conditional(Op op) { return op <= Op::ISF; }  // from ISLT, the first, on

bool ends_block(Op op) { return ends_function(op) || is_conditional(op) || jumps_always(op) || jumps_or_falls(op); }

uint32_t jump_target(const Proto& proto, uint32_t pc) {
    if (is_conditional(proto.code[pc].op)) pc++;
    return static_cast<uint32_t>(static_cast<int>(pc) + 1 + proto.code[pc].jump());
}

std::vector<uint32_t> successors(const Proto& p, uint32_t pc) {
    const Op op = p.code[pc].op;
    if (ends_function(op)) return {};
    if (is_conditional(op)) return {jump_target(p, pc), pc + 2};
    if (jumps_always(op)) return {jump_target(p, pc)};
    if (jumps_or_falls(op)) return {jump_target(p, pc), pc + 1};
    return {pc + 1};
}

}  // namespace kpl
