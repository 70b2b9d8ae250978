// SPDX-License-Identifier: MIT
// Account: what became of every hit and every record of a session.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "luahost/declarations.hpp"

namespace kpl {

struct Account {
    struct Probe {
        std::string name;       // "vfs_read", "vfs_read and 9 more"
        bool has_first = true;  // there is a handler whose hits `status.first` counts
        ProbeStatus status;
        std::string changes;  // what its handlers changed; empty: they can't
    };
    struct Events {
        uint64_t sent = 0, delivered = 0, lost = 0;
        uint32_t grown = 0;  // bytes of the largest ring that grew; 0: none did
    };
    struct Map {
        SourceLoc at;
        uint64_t full = 0;     // updates refused because the map was full
        uint64_t busy = 0;     // accesses given up because another CPU held the key's part
        uint64_t without = 0;  // updates on CPUs that got no memory for it
    };
    std::vector<Probe> probes;     // those that are or were armed, in the order of their declaration
    std::optional<Events> events;  // nothing: no handler sends any
    std::vector<Map> maps;
    uint64_t hits_about = 0, hits_own = 0;  // estimated: at which handlers ran; those of this process itself
    uint64_t lost_mappings = 0;             // that went by unseen: addresses may lack their names, or have older ones
    // Files of processes that did not answer, looks that were not made, files that are too large: what is in them has
    // no names.
    uint64_t silent_files = 0, unasked_files = 0, large_files = 0;
    uint64_t unknown_processes = 0;  // whose addresses have no names: they had ended before anything was known of them
};

}  // namespace kpl
