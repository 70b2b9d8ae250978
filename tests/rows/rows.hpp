// SPDX-License-Identifier: MIT
// Rows: test cases of handler bytecode as data (tests/data/verifier*.txt, engine*.txt). One file is a list of
//
//   [name of the case]
//   @kind ret                      ; pre (as without), post, fault, entry, ret
//   @data 64  @scratch 128         ; bytes
//   @budget 500  @ring 0           ; ring: the limit of a record's size; 0: no ring
//   @map hash 8 16                 ; kind, key and value size; ids count from 0
//   @regs 0=0x12 5=-1              ; 64-bit words of struct pt_regs, before the run
//   @words 0=1                     ; likewise of the instance data
//   @hit func=0x1000 ret=-2        ; numbers of struct kpl_hit
//   r0 = 0                         ; the program, in the assembly of runtime/simulator/asm.hpp
//   exit
//   => accept cost=2 depth=8       ; each part after `accept` may be missing
//
// with one of these ends:
//
//   => reject STACK_UNINIT 3       ; reason and pc
//   => r0 0x10 words 0=7           ; accepted, and the result of a run; words of the instance data afterwards
//   => stop BUDGET 4               ; accepted, and the run stops for that reason at that pc
//   => alike                       ; accepted, and a kernel's engines do the same, whatever that is
//
// and of one-line cases: an instruction on r1 and r2, their values before, and r1 afterwards (for a branch: 1
// if taken)
//
//   r1 += r2 | 1 -1 | 0
//   if r1 s< r2 | 1 -1 | 0
//
// `#` starts a comment that is a whole line.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "simulator/asm.hpp"
#include "simulator/simulate.hpp"

namespace kpl::rows {

using Words = std::map<unsigned, uint64_t>;

struct Row {
    std::string name;
    int line = 0;
    Assembly code;
    uint32_t kind = KPL_PROG_PRE;
    uint32_t data_size = 0, scratch_size = 0, budget = 0;
    uint32_t max_record = KPL_MAX_RECORD;
    uint32_t rights = 0;  // KPL_RIGHT_*
    std::vector<SimMap> maps;
    Words regs, words;
    kpl_hit hit{};

    // What is expected.
    uint32_t reject = KPL_REJECT_NONE, reject_pc = 0;
    std::optional<uint32_t> cost, depth;
    bool runs = false, alike = false;
    uint64_t r0 = 0;
    Words words_after;

    SimLoad to_load() const;
};

// All rows of a file in tests/data. Errors name file and line.
Result<std::vector<Row>> read_rows(const std::string& file);
Result<std::vector<Row>> parse_rows(const std::string& text, const std::string& file);

}  // namespace kpl::rows
