// SPDX-License-Identifier: MIT
// The command line, as docs and conventions have it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command/options.hpp"

namespace kpl {

struct CommandLine {
    enum class Action { Run, Vm, Inspect, Help, Version } action = Action::Run;
    std::vector<std::string> inspect;  // what to show and of what: "disasm" "vfs_read"; also with Action::Vm
    RunOptions options;
    bool tool = false;                 // options.script is one of tool_directories()
    std::string vm_kernel;             // --vm=KERNEL; empty: the newest
    std::vector<std::string> vm_add;   // --vm-add
    std::vector<std::string> vm_argv;  // the arguments without --vm, --vm-add
    std::string text;                  // of help; or what is wrong with the usage
    bool bad_usage = false;
};

CommandLine parse_command_line(int argc, char** argv);

// One option, for the manual and for shells' completion.
struct OptionHelp {
    std::vector<std::string> names;  // "-q", "--quiet"
    std::string value;               // "FILE", "[=KERNEL]"; empty: takes none
    std::string help;
    std::string environment;  // its twin; empty: none
    bool takes_value() const { return !value.empty() && !value.starts_with('['); }
};
std::vector<OptionHelp> options_help();

}  // namespace kpl
