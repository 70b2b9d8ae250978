// SPDX-License-Identifier: MIT
// --vm: the same command line, run in a throwaway VM.
#pragma once

#include "base/result.hpp"
#include "main/command_line.hpp"

namespace kpl {

// The exit status of the run inside.
Result<int> run_in_vm(const CommandLine& line);

// Where the modules for each kernel lie: KPROBE_LUA_MODULE_DIR, kmod/ beside this program, or /lib/modules.
std::string module_directory();

}  // namespace kpl
