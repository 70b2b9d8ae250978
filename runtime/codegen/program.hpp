// SPDX-License-Identifier: MIT
// A compiled handler, as the module and the simulator take it.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "uapi/kprobe_lua.h"

namespace kpl {

// What stands behind an instruction, for messages and dumps.
struct PcNote {
    uint32_t pc = 0;  // holds from here to the next note
    SourceLoc at;
    std::string what;  // for stops: "reading dentry->d_name"; may be empty
};

struct HandlerProgram {
    std::string name;  // "script.lua:14 pre of vfs_read"
    kpl_prog_kind kind = KPL_PROG_PRE;
    std::vector<bpf_insn> insns;
    std::vector<kpl_label> labels;  // ascending pc
    uint32_t data_size = 0, scratch_size = 0, budget = 0;
    std::vector<PcNote> notes;  // ascending pc
    bool changes_regs = false;  // these two: found by the verifier
    bool moves = false;         // what it probes may not go on: override, p.ip

    const PcNote* note_at(uint32_t pc) const;  // nullptr before the first
};

// The listing, with the script's lines behind it; stage `asm` of -d.
std::string print(const HandlerProgram& program);

}  // namespace kpl
