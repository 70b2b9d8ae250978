// SPDX-License-Identifier: MIT
#include "session/change.hpp"

#include <fmt/format.h>

#include "core/core.h"
#include "inspect/functions.hpp"
#include "session/direct.hpp"

namespace kpl {
namespace {

// The kernel's own sections of such functions, between two symbols.
struct Section {
    const char *begin, *end, *why;
};
constexpr Section sections[] = {
    {"__lock_text_start", "__lock_text_end", "it takes or releases a lock: its caller would go on without"},
    {"__sched_text_start", "__sched_text_end", "it waits, or takes a lock: its caller would go on without"},
};

}  // namespace

Result<void> look_at_change(KernelPlace& place, Kallsyms& symbols) {
    place.special.edit().returns = kpl_returns_of(place.function.c_str(), place.module->c_str());
    if (!why_no_return(place.function).empty() || returns_otherwise(place.function)) {
        place.special.edit().no_override = "it does not return as functions do";
        return {};
    }
    for (const Section& section : sections) {
        const uint64_t begin = TRY(symbols.address(section.begin)), end = TRY(symbols.address(section.end));
        if (begin && place.address >= begin && place.address < end) place.special.edit().no_override = section.why;
    }
    return {};
}

std::string change_text(const std::vector<const ArmedProgram*>& programs, uint64_t moved, uint64_t handled) {
    bool moves = false, regs = false;
    for (const ArmedProgram* program : programs) {
        moves |= program->program.moves;
        regs |= program->program.changes_regs;
    }
    std::string text;
    if (moves) text = fmt::format("{} hits did not go on as they would have", moved);
    if (regs) text += fmt::format("{}registers changed by {} hits' handlers", moves ? ", " : "", handled);
    return text;
}

}  // namespace kpl
