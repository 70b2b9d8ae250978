// SPDX-License-Identifier: MIT
// Answers for users of other tracers, who write what they are used to.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kpl {

// One way to say something, there and here.
struct TracerHint {
    std::string_view tracer, names, shape, theirs, ours;
};
std::span<const TracerHint> tracer_hints();

// What to write in place of a name that another tracer has built in: "bpftrace's nsecs is now()".
std::optional<std::string> foreign_name(std::string_view name);

// What to write in place of a target that is written as another tracer has it: "tracepoint:sched:sched_switch",
// "/bin/bash:readline", "sys_open".
std::optional<std::string> foreign_target(std::string_view target);

// What to write in place of another tool's command: "record", as perf has it.
std::optional<std::string> foreign_command(std::string_view word);

// What Lua has in place of an operator of C's that a line contains.
std::optional<std::string> foreign_operator(std::string_view line);

// A script in another tracer's language: the answer, a line for each of its constructs that has one.
std::optional<std::string> foreign_script(std::string_view code);

}  // namespace kpl
