// SPDX-License-Identifier: MIT
#include "codegen/program.hpp"

#include <algorithm>

namespace kpl {

const PcNote* HandlerProgram::note_at(uint32_t pc) const {
    auto next = std::upper_bound(notes.begin(), notes.end(), pc,
                                 [](uint32_t at, const PcNote& note) { return at < note.pc; });
    return next == notes.begin() ? nullptr : &*(next - 1);
}

}  // namespace kpl
