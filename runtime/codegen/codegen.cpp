// SPDX-License-Identifier: MIT
#include "codegen/codegen.hpp"

#include "codegen/allocate.hpp"
#include "codegen/cleanup.hpp"
#include "codegen/emit.hpp"
#include "codegen/forward.hpp"
#include "codegen/lower.hpp"

namespace kpl {
namespace {

// The handler needs `need` of something of which there is `limit`.
Result<void> check_limit(const ir::Function& function, size_t need, size_t limit, const char* what) {
    if (need <= limit) return {};
    return Error{Errc::script, function.name + ": handler is too large: it needs " + std::to_string(need) + " " + what +
                                   ", the limit is " + std::to_string(limit)};
}

// Instructions that are there at the end, whatever allocation does: no copies, constants and jumps.
size_t least_instructions(const mir::Function& function) {
    using mir::Kind;
    size_t least = 0;
    for (mir::BlockId id : function.layout)
        for (const mir::Inst& inst : function.blocks[id].insts)
            least += inst.kind == Kind::Alu || inst.kind == Kind::Load || inst.kind == Kind::Store ||
                     inst.kind == Kind::LoadMap || inst.kind == Kind::Call || inst.kind == Kind::CondMov;
    return least;
}

}  // namespace

Result<HandlerProgram> generate(const ir::Function& function) {
    ir::Function prepared = function;
    forward_strings(prepared);
    mir::Function machine = lower(prepared);
    TRY(check_limit(function, machine.scratch_size, KPL_MAX_SCRATCH, "bytes of memory for strings and keys"));
    remove_dead(machine);
    // First: what follows takes memory by blocks times registers.
    TRY(check_limit(function, least_instructions(machine), KPL_MAX_INSNS, "instructions and more"));
    coalesce(machine);
    TRY(allocate(machine));
    TRY(check_limit(function, machine.areas + 8 * machine.spill_slots, KPL_MAX_STACK, "bytes of stack"));
    remove_redundant_copies(machine);
    thread_jumps(machine);

    HandlerProgram program;
    program.name = function.name;
    program.kind = function.kind;
    program.data_size = function.data_size;
    program.scratch_size = machine.scratch_size;
    program.budget = function.budget;
    emit(machine, program);
    TRY(check_limit(function, program.insns.size(), KPL_MAX_INSNS, "instructions"));
    TRY(check_limit(function, program.labels.size(), KPL_MAX_LABELS, "loops"));
    return program;
}

}  // namespace kpl
