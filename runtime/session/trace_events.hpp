// SPDX-License-Identifier: MIT
// Probes as events of the kernel's own, where their handlers can be said so (Documentation/trace/kprobetrace.rst).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "arch/arch.hpp"
#include "ir/unit.hpp"
#include "session/compile.hpp"

namespace kpl {

inline constexpr const char* trace_group = "kprobe_lua";

struct TraceEvent {
    std::string probe;       // "script.lua:3: kprobe vfs_read"
    std::string name;        // of the event, in trace_group
    std::string definition;  // a line of kprobe_events; empty: `why`
    std::string filter;      // empty: none
    bool enabled = true;
    std::string why;  // which part of the probe no event can have
};

// One for each place. `functions` are the unit's handlers as IR; `names`, those that events have already.
TraceEvent trace_event(const ProbeDecl& probe, const PlannedProbe& plan, const Unit& unit,
                       const std::vector<ir::Function>& functions, const Arch& arch, std::set<std::string>& names);

// What kprobe_events takes, comments included: a probe that can't be one is a comment.
std::string print(const std::vector<TraceEvent>& events);

// Writes them, their filters, and switches them on; takes all of the group away. `dir`: tracefs.
Result<void> install(const std::vector<TraceEvent>& events, const std::string& dir = {});
Result<size_t> remove_trace_events(const std::string& dir = {});

}  // namespace kpl
