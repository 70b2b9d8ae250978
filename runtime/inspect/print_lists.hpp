// SPDX-License-Identifier: MIT
// Lists of the system, for people and as lines of JSON.
#pragma once

#include <string>
#include <vector>

#include "inspect/system_probes.hpp"
#include "symbols/blacklist.hpp"
#include "symbols/kallsyms.hpp"
#include "symbols/types.hpp"

namespace kpl {

std::string print_probes(const std::vector<SystemProbe>& probes);
std::string json_probes(const std::vector<SystemProbe>& probes);
std::string print_blacklist(const std::vector<BlacklistRange>& ranges);
std::string json_blacklist(const std::vector<BlacklistRange>& ranges);
// With `types` each function's C declaration stands below it, where BTF has one.
std::string print_functions(const std::vector<Symbol>& functions, Types* types);
std::string json_functions(const std::vector<Symbol>& functions, Types* types);

}  // namespace kpl
