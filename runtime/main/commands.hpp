// SPDX-License-Identifier: MIT
// The commands that show the system instead of running a script: bench, disasm, list, doctor, help; -l and --info.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "main/command_line.hpp"

namespace kpl {

std::vector<std::string_view> command_names();
// What may stand where a script's name stands.
bool is_command(std::string_view word);
bool is_listed(std::string_view word);  // "uprobe:…" and its like
// Whether -f json changes what the command prints; of line.inspect.
bool has_json(const std::vector<std::string>& command);
// Runs line.inspect. The exit status.
Result<int> run_command(const CommandLine& line);

}  // namespace kpl
