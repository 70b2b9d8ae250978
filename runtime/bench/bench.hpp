// SPDX-License-Identifier: MIT
// kprobe-lua bench: what a hit costs on this machine.
#pragma once

#include "base/result.hpp"
#include "session/options.hpp"

namespace kpl {

// Measures and prints to stdout, with a line on stderr if that is a terminal. The exit status.
Result<int> bench(const Options& options, bool json);

}  // namespace kpl
