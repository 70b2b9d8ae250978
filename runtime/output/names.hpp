// SPDX-License-Identifier: MIT
// The text of numbers that handlers carry out to be shown by name.
#pragma once

#include <cstdint>
#include <string>

#include "ir/unit.hpp"
#include "output/cgroups.hpp"

namespace kpl {

class Names {
  public:
    // A number without a name is shown as it is.
    std::string text(const Naming& naming, uint64_t word);

  private:
    std::string time(const std::string& format, int64_t monotonic_ns);
    int64_t wall_offset();

    int64_t wall_offset_ = 0;  // nanoseconds from the monotonic clock to the time of day
    int64_t offset_at_ = 0;    // when that was so, by the monotonic clock
    Cgroups cgroups_;
};

}  // namespace kpl
