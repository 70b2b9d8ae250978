// SPDX-License-Identifier: MIT
// Control groups by number and by path, where the unified hierarchy is mounted.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.hpp"

namespace kpl {

class Cgroups {
  public:
    // "/system.slice/ssh.service", "/" for the root; of one that went before it was seen, or is not to be seen, its
    // number.
    std::string path(uint64_t id);
    // The number of a group by its path below the mount, or by the directory's own.
    static Result<uint64_t> id_of(const std::string& path);

  private:
    void add_below(const std::string& top, const std::string& group);

    std::map<uint64_t, std::string> paths_;
    int64_t read_at_ = 0;  // seconds
};

}  // namespace kpl
