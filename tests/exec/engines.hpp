// SPDX-License-Identifier: MIT
// What runs a handler: the module's interpreter in this process, an interpreter that shares nothing with it, or the
// kernel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "handler.hpp"

namespace kpl::exec {

struct Ran {
    uint64_t r0 = 0;
    double ns = 0;  // of one run
};

class Engine {
  public:
    virtual ~Engine() = default;
    // `memory` is what r1 points to, and what is left of it; with it, `repeat` runs go one after another.
    virtual Result<Ran> run(const Handler& handler, std::vector<uint8_t>& memory, uint32_t repeat) = 0;
};

// Of the verifier in this process.
struct Verdict {
    uint32_t reason = 0;  // enum kpl_reject
    uint32_t at = 0;      // the instruction of the given program
};
Verdict verdict(const Handler& handler);

Error refused(uint32_t reason, uint32_t at);

std::unique_ptr<Engine> simulator();
std::unique_ptr<Engine> reference();
// The loaded module; an error if there is none.
Result<std::unique_ptr<Engine>> kernel(bool native);

}  // namespace kpl::exec
