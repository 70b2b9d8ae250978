// SPDX-License-Identifier: MIT
// Which captured locals are assigned once the function that captures them exists.
#include <algorithm>
#include <set>

#include "bytecode/flow.hpp"

namespace kpl {
namespace {

bool assigns_upvalue(const Insn& insn, uint32_t index) {
    switch (insn.op) {
        case Op::USETV:
        case Op::USETS:
        case Op::USETN:
        case Op::USETP: return insn.a == index;
        default: return false;
    }
}

// Calls visit(pc, child) for each function that `f` makes.
template <class Visit>
void for_each_child(const Proto& f, Visit&& visit) {
    for (uint32_t pc = 1; pc < f.code.size(); pc++)
        if (f.code[pc].op == Op::FNEW) visit(pc, *std::get<std::shared_ptr<const Proto>>(f.gc[f.code[pc].c]));
}

// The line where `f`, or a function nested in it, assigns its upvalue `index`; 0: nowhere.
uint32_t line_in_function(const Proto& f, uint32_t index) {
    for (uint32_t pc = 1; pc < f.code.size(); pc++)
        if (assigns_upvalue(f.code[pc], index)) return static_cast<uint32_t>(f.loc(pc).line);
    uint32_t line = 0;
    for_each_child(f, [&](uint32_t, const Proto& child) {
        for (uint32_t i = 0; i < child.upvalues.size() && !line; i++)
            if (!child.upvalues[i].local && child.upvalues[i].slot == index) line = line_in_function(child, i);
    });
    return line;
}

// A local lives from behind its initialisation on, which for `local function` is behind the FNEW.
const LocalVar* captured_local(const Proto& f, uint32_t pc, const UpvalueDesc& upvalue) {
    return f.local_at(upvalue.slot, pc + 1);
}

// The line where code that can run after `from` assigns the local: only while it is the same variable.
uint32_t line_after(const Proto& f, uint32_t from, const LocalVar& local) {
    std::set<uint32_t> seen;
    std::vector<uint32_t> todo = successors(f, from);
    uint32_t line = 0;
    while (!todo.empty()) {
        const uint32_t pc = todo.back();
        todo.pop_back();
        if (pc >= f.code.size() || pc < local.start_pc || pc >= local.end_pc || !seen.insert(pc).second) continue;
        const Insn& insn = f.code[pc];
        const bool nils = insn.op == Op::KNIL && insn.a <= local.slot && local.slot <= insn.c;
        if (nils || (op_modes(insn.op).a == Mode::Dst && insn.a == local.slot)) {
            const auto at = static_cast<uint32_t>(f.loc(pc).line);
            line = line ? std::min(line, at) : at;
        }
        for (const uint32_t next : successors(f, pc)) todo.push_back(next);
    }
    return line;
}

uint32_t assignment_of(const Proto& f, uint32_t pc, const UpvalueDesc& upvalue) {
    if (upvalue.immutable) return 0;
    if (!upvalue.local) return upvalue.slot < f.upvalues.size() ? f.upvalues[upvalue.slot].assigned : f.first_line;
    const LocalVar* local = captured_local(f, pc, upvalue);
    if (!local) return f.first_line;  // a dump without names of locals: anything may be
    uint32_t line = 0;
    for_each_child(f, [&](uint32_t at, const Proto& child) {
        for (uint32_t i = 0; i < child.upvalues.size() && !line; i++) {
            const UpvalueDesc& other = child.upvalues[i];
            if (other.local && other.slot == upvalue.slot && captured_local(f, at, other) == local)
                line = line_in_function(child, i);
        }
    });
    return line ? line : line_after(f, pc, *local);
}

}  // namespace

void find_assignments(const Proto& root) {
    for_each_child(root, [&](uint32_t pc, const Proto& child) {
        auto& made = const_cast<Proto&>(child);  // read from a dump, and not yet handed out
        for (UpvalueDesc& upvalue : made.upvalues) upvalue.assigned = assignment_of(root, pc, upvalue);
        find_assignments(child);
    });
}

}  // namespace kpl
