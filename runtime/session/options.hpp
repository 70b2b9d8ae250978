// SPDX-License-Identifier: MIT
// What whoever opens a session asks of it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "uapi/kprobe_lua.h"

namespace kpl {

// Which changes of what the kernel runs are allowed: the rights that the session asks for.
enum class Unsafe : uint32_t { No = 0, Inject = KPL_RIGHT_INJECT, All = KPL_RIGHT_INJECT | KPL_RIGHT_CHANGE };

struct Options {
    std::vector<std::string> modules;      // required before any script
    std::vector<std::string> search_dirs;  // for Lua modules
    std::optional<uint32_t> pid;           // hits of this process only
    bool no_self = false;                  // no hits of this process itself
    uint32_t max_probes = 1000;            // that all globs and lists may come to
    Unsafe unsafe = Unsafe::No;
    bool check = false;  // compile and verify only: no module, nothing armed
    bool cost = false;   // with check: show what each handler may cost, in place of a line for each
    bool quiet = false;  // no notes but errors and losses
    bool verbose = false;
    std::set<std::string> dump;              // stages to show: bc, ir, asm, native
    uint32_t ring_bytes = 0;                 // of each CPU's ring; 0: first_ring, which grows up to largest_ring
    uint32_t wake_latency_ms = 20;           // how long events may gather; 0: each one wakes
    uint32_t wake_fill = 25;                 // percent of a ring: what gathers at most
    uint32_t cpu_share = KPL_DEFAULT_SHARE;  // percent of each CPU that handlers may take; KPL_SHARE_OFF: any
    uint32_t dead_man = 0;  // seconds without a turn of the session after which the module detaches; 0: never
    std::string btf_dir = "/sys/kernel/btf";

    static constexpr uint32_t first_ring = 1 << 20, largest_ring = 16 << 20;
    uint32_t ring() const { return ring_bytes ? ring_bytes : first_ring; }  // as it begins
};

}  // namespace kpl
