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
    Names();
    // A number without a name is shown as it is.
    std::string text(const Naming& naming, uint64_t word);

  private:
    std::string time(const std::string& format, int64_t monotonic_ns) const;

    int64_t wall_offset_;  // nanoseconds from the monotonic clock to the time of day
    Cgroups cgroups_;
};

}  // namespace kpl
