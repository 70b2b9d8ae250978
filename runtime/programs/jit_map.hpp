// SPDX-License-Identifier: MIT
// JitMap: the names of code that a process makes as it runs, from the file that its JIT writes for perf.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kpl {

class JitMap {
  public:
    // Of the process's /tmp/perf-PID.map, which is read again when it has grown; empty: it has none for the address.
    // Looks at the file take a twentieth of the time at most: what is added between them has its name a little later.
    std::string name(uint32_t pid, uint64_t address);
    void forget();  // what was read, not how long that took

    // "START SIZE NAME" in each line; of two at one address the later one counts. For tests.
    void read(std::string_view text);
    std::string at(uint64_t address) const;
    size_t bytes() const { return bytes_; }  // that it takes

  private:
    using Clock = std::chrono::steady_clock;
    struct Code {
        uint64_t start, size;
        std::string name;
    };
    void refresh(uint32_t pid);

    std::vector<Code> code_;                   // ascending
    uint64_t seen_bytes_ = 0, looked_at_ = 0;  // of the file: taken, and when it was read last
    size_t bytes_ = 0;
    Clock::time_point next_look_;
};

}  // namespace kpl
