// SPDX-License-Identifier: MIT
// What the kernel tells about probes in debugfs and tracefs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace kpl {

inline constexpr const char* kprobes_dir = "/sys/kernel/debug/kprobes";

struct ListedProbe {
    uint64_t addr = 0;
    bool is_return = false;
    std::string place;   // "vfs_read+0x0"
    std::string module;  // empty: vmlinux
    bool gone = false, disabled = false, optimized = false, ftrace = false;
};

struct TracedFunction {
    std::string name, module;
    unsigned users = 0;
    std::string callback, callback_module;  // of the only user; empty if there are more, or it is not told
    std::string direct, direct_module;      // what calls the function without ftrace's callbacks: one of the users
};

// The errors say what is not mounted or not allowed, and the command that fixes it.
Result<std::vector<ListedProbe>> read_probe_list(const std::string& dir = kprobes_dir);
// nullopt: nobody says.
std::optional<bool> probes_enabled(const std::string& dir = kprobes_dir);
// Where tracefs has `file`: `dir` or, if that is empty, the one of its usual places where it can be read; else the
// first.
std::string find_tracefs(const std::string& dir, const std::string& file);
// A file of tracefs.
Result<std::string> read_tracefs(const std::string& dir, const std::string& file);
// `dir`: where tracefs is; empty: its usual places.
Result<std::vector<TracedFunction>> read_traced(const std::string& dir = {});

// Group and name of each event, in the kernel's order: those that people have added stand last.
Result<std::vector<std::pair<std::string, std::string>>> read_events(const std::string& dir = {});

// The fields of an event that are its own, in order, as C declares them.
struct EventField {
    std::string type, name;
};
Result<std::vector<EventField>> read_event_fields(const std::string& event, const std::string& dir = {});

// Where ftrace has sites, by "module:function".
struct FtraceSites {
    std::set<std::string> functions;  // at their entries
    // Of no symbol (a weak function that another one replaced): offsets from the function before them.
    std::map<std::string, std::vector<uint64_t>> nameless;
};
// Empty where the list can't be read.
FtraceSites read_ftrace_sites(const std::string& dir = {});

std::optional<ListedProbe> parse_probe_line(std::string_view line);
std::optional<TracedFunction> parse_traced_line(std::string_view line);
// A line that adds to the one before it; false: it does not.
bool parse_direct_line(std::string_view line, TracedFunction& traced);
std::optional<std::pair<std::string, std::string>> parse_event_line(std::string_view line);
std::optional<EventField> parse_field_line(std::string_view line);

}  // namespace kpl
