// SPDX-License-Identifier: MIT
// Trace events that others have made of probes (Documentation/trace/kprobetrace.rst, uprobetracer.rst), as declarations
// of ours.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace kpl {

struct ForeignEvent {
    std::string definition;  // the line that made it
    char type = 'p';         // 'p', 'r'; others: what dynamic_events has beside probes
    unsigned maxactive = 0;  // 0: not said
    std::string group, name;
    std::string place;                                      // "vfs_read+9", "/bin/bash:0x4d1a0": an offset in the file
    std::vector<std::pair<std::string, std::string>> args;  // NAME, FETCHARG[:TYPE]
    std::string filter, trigger;                            // "": none
    bool enabled = false;

    bool is_user() const { return place.starts_with('/'); }
};

// A line of dynamic_events, kprobe_events or uprobe_events.
std::optional<ForeignEvent> parse_event_definition(std::string_view line);

// With their filters, in the kernel's order. `dir`: where tracefs is; empty: its usual places.
Result<std::vector<ForeignEvent>> read_foreign_events(const std::string& dir = {});

// The address that lies at an offset of a program's file, as nm prints it.
using AddressOf = std::function<std::optional<uint64_t>(const std::string& path, uint64_t offset)>;

// A script whose probes do the same; comments say what of an event can't be said.
std::string print_as_script(const std::vector<ForeignEvent>& events, const AddressOf& address_of);

}  // namespace kpl
