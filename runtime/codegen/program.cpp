// SPDX-License-Identifier: MIT
#include "codegen/program.hpp"

#include <algorithm>

#include "simulator/asm.hpp"

namespace kpl {

const PcNote* HandlerProgram::note_at(uint32_t pc) const {
    auto next =
        std::upper_bound(notes.begin(), notes.end(), pc, [](uint32_t at, const PcNote& note) { return at < note.pc; });
    return next == notes.begin() ? nullptr : &*(next - 1);
}

std::string print(const HandlerProgram& program) {
    std::string text = "; " + program.name + ": " + std::to_string(program.insns.size()) + " instructions, " +
                       std::to_string(program.scratch_size) + " bytes of scratch memory\n";
    text += disassemble(program.insns, program.labels, [&](uint32_t pc) -> std::string {
        const PcNote* note = program.note_at(pc);
        if (!note || note->pc != pc) return "";
        std::string place = Error{Errc::script, note->what, note->at}.message();
        return note->what.empty() && place.ends_with(": ") ? place.substr(0, place.size() - 2) : place;
    });
    return text;
}

}  // namespace kpl
