// SPDX-License-Identifier: MIT
// What the command line asks of a run, beside what it asks of the run's session.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "output/color.hpp"
#include "output/format.hpp"
#include "output/sink.hpp"
#include "session/options.hpp"

namespace kpl {

struct RunOptions : Options {
    std::string script;                                // a path, "-" for stdin; empty with `code`
    std::optional<std::string> code;                   // -e
    std::vector<std::string> args;                     // the script's arg[1]…
    std::optional<std::string> command;                // -c, run by the shell
    std::string output;                                // -o; empty: stdout
    const Format* format = &formats().front().format;  // -f
    Buffering buffering = Buffering::Batch;            // -B
    std::optional<double> timeout;                     // --timeout, seconds
    bool list = false;                                 // -l: say what would be attached, and end
    bool dry_run = false;                              // --dry-run: end as soon as the probes are armed
    Color color = Color::Auto;                         // --color, of messages
    bool strict = false;                               // --strict
    bool prompt = false;                               // -i, or no script on a terminal
};

}  // namespace kpl
