// SPDX-License-Identifier: MIT
// What a VM's console says of the cases that ran there one after the other, and of an emulator whose threads go astray.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "guest/console.hpp"

namespace kpl {

constexpr const char* no_case = "end";  // the VM's own beginning and end

// The case during which each line came.
std::vector<std::string> case_of_each(const std::vector<std::string>& lines);

// The cases in which QEMU's threads went astray and nothing else was wrong, with the line that tells it. A breakpoint
// that was taken away is hit once more, and a CPU whose thread the host does not run looks stuck; both are seen in
// kernels without a module of ours. Another splat, or a frame of our modules, is a case's own fault.
std::map<std::string, std::string> strayed_cases(const Console& console);

}  // namespace kpl
