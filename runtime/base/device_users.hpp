// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace kpl {

// The processes that have the device open, ascending: not those that have something else of its name, or hold its name
// alone (O_PATH), which anybody may. Nothing: there is no such device.
std::vector<int> device_users(const std::string& device);

}  // namespace kpl
