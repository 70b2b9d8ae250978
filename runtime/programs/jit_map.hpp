// SPDX-License-Identifier: MIT
// JitMap: the names of code that a process makes as it runs, from the file that its JIT writes for perf.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "programs/foreign_files.hpp"

namespace kpl {

class JitMap {
  public:
    // Reads what has been added to the process's /tmp/perf-PID.map. `owner`: the process's, or nothing if that is not
    // known; a file of anybody else's but root is none. Each file is looked at for a twentieth of the time at most:
    // what is added between two looks has its name a little later. False: not now.
    bool look(ForeignFiles& files, uint32_t pid, std::optional<uid_t> owner);
    void forget();  // what was read, not how long that took

    // "START SIZE NAME" in each line; of two at one address the later one counts. For tests.
    void read(std::string_view text);
    // Empty: there is none for the address.
    std::string at(uint64_t address) const;
    size_t bytes() const { return bytes_; }  // that it takes

  private:
    using Clock = std::chrono::steady_clock;
    struct Code {
        uint64_t start, size;
        std::string name;
    };
    void refresh(int fd);

    std::vector<Code> code_;                   // ascending
    uint64_t seen_bytes_ = 0, looked_at_ = 0;  // of the file: taken, and when it was read last
    size_t bytes_ = 0;
    Clock::time_point next_look_;
};

}  // namespace kpl
