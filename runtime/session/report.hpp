// SPDX-License-Identifier: MIT
// Report: what went wrong at hits, in the words of the script, and the account at the end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codegen/program.hpp"
#include "device/device.hpp"
#include "device/rings.hpp"
#include "luahost/declarations.hpp"

namespace kpl {

struct ArmedProgram {
    HandlerProgram program;
    LoadedProgram loaded;
};

// Reports the places where handlers stopped: the first time, then at most once a second for each place.
class StopReporter {
  public:
    // Lines to print now: "script.lua:14: bad address 0x0 reading dentry->d_name (12 hits)".
    // `last`: at the end: whatever was not yet told is told.
    Result<std::vector<std::string>> poll(const Device& device, const std::vector<ArmedProgram>& programs, bool last);
    uint64_t total() const { return total_; }

  private:
    struct Told {
        uint64_t count = 0;
        uint64_t at = 0;
    };
    uint64_t total_ = 0;
    uint64_t seen_ = 0;
    std::map<std::pair<uint32_t, uint32_t>, Told> told_;  // by program and pc
};

// "vfs_read: 12 hits = 10 handled + 2 stopped (2 faults) + 0 skipped + 0 missed"
std::string account_line(const std::string& name, const kpl_counts& counts);
uint64_t stopped(const kpl_counts& counts);

}  // namespace kpl
