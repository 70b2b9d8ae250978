// SPDX-License-Identifier: MIT
// Nearly right programs against the verifier and the oracle.
//
//   verifier_fuzz [RUNS [SEED [FILE]]]
//
// FILE gets some of those that are accepted, for engine_rows to run in the kernel. Prints the program of the first
// violation and aborts.
#include <fmt/format.h>

#include <cstdlib>

#include "core/core.h"
#include "fuzz/accepted.hpp"
#include "fuzz/mutate.hpp"
#include "fuzz/oracle.hpp"

using namespace kpl;

int main(int argc, char** argv) {
    size_t runs = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 100'000;
    uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 1;
    const std::vector<rows::Row> programs = fuzz::accepted_rows();
    fuzz::Mutator mutator(programs, seed);
    size_t accepted = 0, loops = 0, compared = 0;
    fuzz::Accepted kept(argc > 3 ? argv[3] : "");
    std::vector<size_t> reasons(KPL_REJECT_END_);
    for (size_t i = 0; i < runs; i++) {
        const rows::Row row = mutator.next();
        const fuzz::Judgement judgement = fuzz::judge(row, i % 3);  // at times, the ring is full at once
        if (judgement.reject == KPL_REJECT_NONE) kept.add(row);
        reasons[judgement.reject]++;
        accepted += judgement.reject == KPL_REJECT_NONE;
        loops += judgement.loops;
        compared += judgement.compared;
    }
    fmt::print("{} programs, {} accepted and run, {} of them with loops, {} compared with the reference\n", runs,
               accepted, loops, compared);
    if (argc > 3) fmt::print("{} of {} different ones are in {}\n", kept.size(), kept.different(), argv[3]);
    for (uint32_t i = 1; i < KPL_REJECT_END_; i++) fmt::print("{:8}  {}\n", reasons[i], kpl_reject_text(i));
    return accepted > 0 && compared > 0 ? 0 : 1;
}
