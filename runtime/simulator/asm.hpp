// SPDX-License-Identifier: MIT
// Handler bytecode as text, both ways. What disassemble() prints, assemble() reads back to the same bytes.
//
// One instruction a line; `;` starts a comment; a line may begin with its pc, which must then be right.
//
//   r0 = 1            w0 = -1            r1 += r2          w1 s>>= 3       r1 = -r1       r2 = be16 r2
//   r1 = 0x123456789 ll                  r2 = map 0        call now        goto out       exit
//   r1 = *(u64 *)(r6 + 8)                *(u32 *)(r10 - 4) = r2            *(u8 *)(r7 + 0) = 5
//   if r1 s< r2 goto out                 if w1 & 8 goto +2
//   .insn 0x16 1 0 -3 7                  ; opcode dst src off imm, whatever they are
//
// rN is a register, wN its lower half (ALU and JMP32). A label with braces declares a state (struct
// kpl_label):
//
//   loop: {r6=hit r7=num r8=stack-16 r3=map:1 r4=rec rec=24 stack=0x3}
//
// registers that are not named are `none`; rec=N: a record with a fixed part of N bytes is pending; stack: as
// in struct kpl_label.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "uapi/kprobe_lua.h"

namespace kpl {

struct Assembly {
    std::vector<bpf_insn> insns;
    std::vector<kpl_label> labels;  // ascending pc
};

// The error's place is the line in `text`, from 1.
Result<Assembly> assemble(std::string_view text);

// What to write behind the instruction at a pc; empty: nothing.
using Annotate = std::function<std::string(uint32_t pc)>;

std::string disassemble(std::span<const bpf_insn> insns, std::span<const kpl_label> labels = {},
                        const Annotate& annotate = {});

}  // namespace kpl
