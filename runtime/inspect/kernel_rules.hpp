// SPDX-License-Identifier: MIT
// How the running kernel was built, as far as kprobes' decisions depend on it: by the symbols that it has,
// and by its release where nothing else tells.
#pragma once

#include <string_view>

#include "arch/points.hpp"
#include "symbols/kallsyms.hpp"

namespace kpl {

Result<KernelRules> kernel_rules(Kallsyms& symbols, std::string_view release);
// Of the running kernel, as `uname -r` prints it.
std::string kernel_release();

}  // namespace kpl
