// SPDX-License-Identifier: MIT
// The kernel's own list of code that no probe may stand in, from debugfs. kprobes check it themselves, ftrace does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace kpl {

struct BlacklistRange {
    uint64_t begin = 0, end = 0;  // end is behind the last byte
    std::string name;
};

class Blacklist {
  public:
    static constexpr const char* usual_path = "/sys/kernel/debug/kprobes/blacklist";

    // The error says how the list can be made readable.
    static Result<Blacklist> read(const std::string& path = usual_path);

    bool covers(uint64_t address) const;
    const std::vector<BlacklistRange>& ranges() const { return ranges_; }  // ascending by begin

  private:
    std::vector<BlacklistRange> ranges_;
    std::vector<uint64_t> reach_;  // of the ranges up to each: how far the farthest goes, for they may overlap
};

// The list, read when it is first needed: the kernel takes a while to write it, and most scripts do without.
class BlacklistOnDemand {
  public:
    explicit BlacklistOnDemand(std::string path = Blacklist::usual_path) : path_(std::move(path)) {}
    const Blacklist* get() const;  // nullptr: it can't be read

  private:
    std::string path_;
    mutable bool tried_ = false;
    mutable std::optional<Blacklist> list_;
};

}  // namespace kpl
