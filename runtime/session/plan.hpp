// SPDX-License-Identifier: MIT
// Plan: where the probes of new declarations go, and the handlers that run there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "session/attach.hpp"
#include "session/client.hpp"
#include "session/compile.hpp"
#include "session/declared.hpp"
#include "session/kernel_view.hpp"
#include "session/options.hpp"

namespace kpl {

struct Plan {
    size_t first = 0;  // declaration
    std::vector<PlannedProbe> probes;
    std::vector<LeftOut> left_out;  // by declaration, from `first` on
};

struct Planning {
    const Options& options;
    Client& client;
    KernelView& kernel;
    const Paths& paths;
    std::optional<uint32_t> pid;  // of Options::pid, in the initial namespace
    size_t armed;                 // probes that are armed already
};

// Of the declarations that are to be armed; their handlers join the unit. The error has a line for each that can't be.
Result<Plan> plan_pending(const Planning& planning, Declared& declared);

}  // namespace kpl
