// SPDX-License-Identifier: MIT
// What the command line, or the program that embeds the library, asks of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "output/sink.hpp"

namespace kpl {

enum class Format { Text, Json, Folded };

struct Options {
    std::string script;              // a path, "-" for stdin; empty with `code`
    std::optional<std::string> code;  // -e
    std::vector<std::string> args;   // the script's arg[1]…
    std::vector<std::string> modules;      // -r
    std::vector<std::string> search_dirs;  // -I
    std::optional<std::string> command;    // -c, run by the shell
    std::optional<uint32_t> pid;           // -p
    std::string output;                    // -o; empty: stdout
    Format format = Format::Text;          // -f
    bool quiet = false;                    // -q: no messages but errors and losses
    Buffering buffering = Buffering::Batch;  // -B
    std::optional<double> timeout;         // --timeout, seconds
    uint32_t max_probes = 1000;            // --max-probes
    bool list = false;                     // -l: say what would be attached, and end
    bool check = false;                    // --check: compile and verify only
    bool strict = false;                   // --strict
    bool verbose = false;                  // -v
    std::set<std::string> dump;            // -d: bc, ir, asm, native
    uint32_t ring_bytes = 1 << 20;         // of each CPU's ring
    uint32_t wake_latency_ms = 20;         // how long events may gather; 0: each one wakes
    uint32_t wake_fill = 25;               // percent of a ring: what gathers at most
    std::string btf_dir = "/sys/kernel/btf";
};

}  // namespace kpl
