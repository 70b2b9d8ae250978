// SPDX-License-Identifier: MIT
// Kernel modules that a VM is to load, in order, with what they need.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace kpl {

bool names_module(const std::string& name);  // "x.ko", also packed: "x.ko.xz"

// `name` is a file, or the name of a module of that kernel ("dummy.ko"). With the modules that it needs before it, if
// it is one of that kernel's own.
Result<std::vector<std::string>> module_files(const std::string& name, const std::string& release,
                                              const std::string& modules_dir = "/lib/modules");

// A module's bytes, unpacked.
Result<std::string> module_bytes(const std::string& path);

}  // namespace kpl
