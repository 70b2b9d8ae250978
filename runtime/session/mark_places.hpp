// SPDX-License-Identifier: MIT
// Marks of programs and libraries (USDT): "libstdc++:libstdcxx:throw", "/path:provider:*".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "session/kernel_view.hpp"
#include "session/targets.hpp"

namespace kpl {

// A mark that stands in several places is each of them.
Result<Resolved> resolve_marks(const ProbeDecl& probe, KernelView& kernel, const BlacklistOnDemand& blacklist,
                               bool addresses);

// "libstdcxx:throw(uint64_t arg1, uint64_t arg2)": the parameters have no names of their own, and no types in `types`.
Result<std::optional<Signature>> mark_signature(const KernelPlace& place, Types& types);

// What a target that begins with `word` may be: programs and libraries, or behind "libc:" its marks.
std::vector<std::string> mark_targets(const std::string& word, KernelView& kernel);

}  // namespace kpl
