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
std::string print_calls(const std::vector<CallUnderWay>& calls);
std::string json_calls(const std::vector<CallUnderWay>& calls);
std::string print_blacklist(const std::vector<BlacklistRange>& ranges);
std::string json_blacklist(const std::vector<BlacklistRange>& ranges);
// With `types` each function's C declaration stands below it, where BTF has one.
std::string print_functions(const std::vector<Symbol>& functions, Types* types);
std::string json_functions(const std::vector<Symbol>& functions, Types* types);

// One place that can be probed, which is no function; `declaration` may be empty.
std::string print_place(const std::string& place, const std::string& declaration);
std::string json_place(const std::string& place, uint64_t addr, const std::string& declaration);

// One place where a script would probe; `declaration` may be empty.
std::string print_target(std::string_view kind, const std::string& place, const std::string& declaration);
std::string json_target(std::string_view kind, const std::string& place, uint64_t addr, const std::string& declaration);

// A function as C declares it, or nothing where BTF is silent.
std::string c_declaration(const Symbol& symbol, Types& types);

}  // namespace kpl
