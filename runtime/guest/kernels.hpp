// SPDX-License-Identifier: MIT
// Which installed kernel a throwaway VM boots.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace kpl {

struct GuestKernel {
    std::string release;                       // as `uname -r` says inside
    std::string image;                         // the bootable file
    std::string module;                        // the module built for it; empty when none was asked for
    std::vector<std::string> other_modules{};  // that it makes use of, where they were built
};

// Whether `release` is what `wanted` names: "" any; "6.1" 6.1.x and never 6.12; "6.1-rt" its PREEMPT_RT
// flavour; "6.12-cloud" any other flavour by its name; or the full release. Only "-rt" and the full release
// mean PREEMPT_RT.
bool kernel_matches(std::string_view release, std::string_view wanted);

// Orders releases by the numbers in them: 6.1.0-9 < 6.1.0-56 < 6.12.
bool kernel_older(std::string_view a, std::string_view b);

// KPROBE_LUA_BOOT_DIR, or /boot.
std::string usual_boot_dir();

// The module below `module_dir` for that release: as the build has it, <release>/kprobe_lua.ko, or as module trees
// have what was added, <release>/extra/kprobe_lua.ko. The former, if there is none.
std::string module_for(const std::string& module_dir, const std::string& release);

// The newest kernel in `boot_dir` that matches and has a module in `module_dir` (any matching kernel when `module_dir`
// is empty). Errors name what to do.
Result<GuestKernel> pick_kernel(const std::string& wanted, const std::string& module_dir,
                                const std::string& boot_dir = usual_boot_dir());

}  // namespace kpl
