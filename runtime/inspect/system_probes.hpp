// SPDX-License-Identifier: MIT
// All probes of the system, whoever put them there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect/debugfs.hpp"
#include "symbols/kallsyms.hpp"
#include "symbols/types.hpp"

namespace kpl {

struct SystemProbe {
    uint64_t addr = 0;
    std::string kind;       // "kprobe", "kretprobe", "ftrace", "direct"
    std::string place;      // "vfs_read+0x9", "ext4:ext4_sync_fs"
    std::string state;      // "int3", "optimized", "ftrace", "direct", "disabled", "gone"
    std::string owner;      // "kprobe_lua", "kprobe_events", another module's name; "" if nobody says
    std::vector<int> pids;  // of the sessions, one of which it belongs to
    std::optional<uint64_t> missed;
};

// Ascending by address. What only /proc/kcore and BTF tell (owner, missed) is left out where they can't be
// read.
Result<std::vector<SystemProbe>> system_probes(Kallsyms& symbols, Types& types);

// A call of a function that has, or had, a direct return probe: the stubs' module stays until it has returned.
struct CallUnderWay {
    int pid = 0;
    std::string function, comm;
};

// The first ones; none where the stubs' module is not there, or does not tell.
std::vector<CallUnderWay> calls_under_way(const std::string& path = "/sys/module/kprobe_lua_stubs/parameters/calls");

}  // namespace kpl
