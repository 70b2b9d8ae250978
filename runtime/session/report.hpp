// SPDX-License-Identifier: MIT
// Report: what went wrong at hits, in the words of the script.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "codegen/program.hpp"
#include "device/device.hpp"
#include "device/rings.hpp"
#include "luahost/declarations.hpp"

namespace kpl {

struct ArmedProgram {
    HandlerProgram program;
    LoadedProgram loaded;
    bool freed = false;  // its probes are gone for good
};

// Reports the places where handlers stopped: the first time, then at most once a second for each place and reason.
class StopReporter {
  public:
    // Lines to print now: "script.lua:14: bad address 0x0 reading dentry->d_name (12 hits)".
    // `last`: at the end: whatever was not yet told is told.
    Result<std::vector<std::string>> poll(const Device& device, const std::vector<ArmedProgram>& programs, bool last);
    // Those of one program that are not yet told, before it is freed.
    Result<std::vector<std::string>> last_of(const Device& device, const std::vector<ArmedProgram>& programs,
                                             uint32_t program);
    // Programs from `first` on are no more: others will have their numbers.
    void forget(size_t first);

  private:
    struct Told {
        uint64_t count = 0;
        uint64_t at = 0;
    };
    // Whether lines wait for their time.
    Result<bool> tell(const Device& device, const std::vector<ArmedProgram>& programs, uint32_t program, bool last,
                      std::vector<std::string>& lines);

    uint64_t seen_ = 0;
    // By program, pc and reason: one instruction may stop for several.
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Told> told_;
    std::vector<std::string> lines_;  // that an error kept from being told
};

}  // namespace kpl
