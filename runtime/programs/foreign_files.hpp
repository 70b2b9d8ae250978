// SPDX-License-Identifier: MIT
// ForeignFiles: files that processes lead to, such as what they have mapped. A look at one may never end, not even when
// who looks is killed: a file system that anybody mounted may answer to nobody. So a process of its own looks, which
// has nothing of this one, and is left behind if it takes too long.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"

namespace kpl {

class ForeignFiles {
  public:
    struct Door {
        std::string path;
        int flags = 0;                                             // O_NOFOLLOW, or nothing
        std::function<bool(const struct stat&)> wanted = nullptr;  // runs in the other process: system calls only
        bool only_whether = false;                                 // it is there; what is in it is not asked for
    };
    struct Found {
        size_t door;
        UniqueFd file;  // for reading
        bool is_copy;   // in memory, of one whose server may fall silent later
    };

    ForeignFiles() = default;
    ~ForeignFiles();
    ForeignFiles(const ForeignFiles&) = delete;
    ForeignFiles& operator=(const ForeignFiles&) = delete;

    // The first door behind which there is a regular file that is wanted. Nothing: there is none, or no answer came
    // within 3 s; after a few of those that are still waited for, nobody is asked any more.
    std::optional<Found> find(const std::vector<Door>& doors);
    // How often no answer came.
    uint64_t silent() const { return silent_; }

  private:
    void reap();

    std::vector<UniqueFd> left_;  // processes that have not ended yet
    uint64_t silent_ = 0;
};

}  // namespace kpl
