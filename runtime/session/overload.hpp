// SPDX-License-Identifier: MIT
// Probes that the module has disabled because their handlers took too much of a CPU.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace kpl {

struct Overload {
    size_t probe = 0;  // index in what was asked for
    uint32_t cpu = 0, percent = 0;
    uint64_t hits = 0;  // until then
};

class OverloadReporter {
  public:
    // Those among the probes that were disabled since the last call. Costs one small call while there are none.
    Result<std::vector<Overload>> poll(const Device& device, std::span<const uint32_t> ids);

  private:
    uint32_t seen_ = 0;            // the module's count
    std::set<uint32_t> told_;      // ids
    std::vector<Overload> found_;  // that an error kept from being told
};

// What became of a probe, and what to do.
std::string overload_text(const std::string& place, const Overload& overload, uint32_t share);

}  // namespace kpl
