// SPDX-License-Identifier: MIT
// The tracepoints of the kernel and of its modules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "symbols/kallsyms.hpp"

namespace kpl {

struct Tracepoint {
    std::string group;    // "sched"; empty: it has none, or tracefs can't be read
    std::string name;     // "sched_switch": there is one of that name in the kernel
    std::string module;   // empty: vmlinux
    uint64_t entry = 0;   // of its struct bpf_raw_event_map; 0: addresses are hidden
    uint64_t caller = 0;  // the function that calls what is attached

    std::string text() const { return group.empty() ? name : group + ":" + name; }
};

class Tracepoints {
  public:
    // `events`: tracefs's list of them; empty: where it usually is.
    explicit Tracepoints(std::string events = {}) : events_(std::move(events)) {}

    // "sched:sched_switch", "sched_switch", "sched:*", "*": those that match, ascending. The error is of
    // tracefs, which alone knows groups: for a glob of groups it can't be done without.
    Result<std::vector<Tracepoint>> find(const std::string& pattern, Kallsyms& symbols);
    // Names near to one that is not there, best first, at most three.
    Result<std::vector<std::string>> near(const std::string& pattern, Kallsyms& symbols);
    // Modules may have come or gone.
    void refresh() { all_.clear(); }

  private:
    Result<void> load_groups();
    Result<std::vector<Tracepoint>> find_one(const std::string& name, Kallsyms& symbols);
    Result<void> load_all(Kallsyms& symbols);
    std::string group_of(const std::string& name) const;

    std::string events_;
    bool groups_read_ = false;
    std::optional<Error> no_groups_;
    std::multimap<std::string, std::string, std::less<>> groups_;  // by name
    std::vector<Tracepoint> all_;
};

}  // namespace kpl
