// SPDX-License-Identifier: MIT
// Whether a module of the kernel is one, and there.
#pragma once

#include <string>

namespace kpl {

// `root` stands before every path. Names have underscores, as in /sys/module.
bool is_loaded(const std::string& module, const std::string& root = {});
// Its code is part of the kernel itself.
bool is_built_in(const std::string& module, const std::string& root = {});

}  // namespace kpl
