// SPDX-License-Identifier: MIT
// Loop: waits for ring wake-ups, timers, signals and the command's end, in one place.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace kpl {

uint64_t monotonic_ns();

class Loop {
  public:
    // From now on the first SIGINT or SIGTERM, and each SIGUSR1, is an event. A second SIGINT or SIGTERM ends the process,
    // whatever it does: a callback of the script may never return.
    static Result<Loop> create();

    void every(uint64_t period_ns, std::function<void()> fn);
    void watch(int fd, std::function<void()> fn);  // while it is readable
    void unwatch(int fd);
    static bool end_asked();  // by SIGINT or SIGTERM, even before wait() has told
    bool has_timers() const { return !timers_.empty(); }
    void on_signal(std::function<void(int)> fn) { signal_ = std::move(fn); }

    // Waits for at most `limit_ns` (nullopt: until something happens), then runs what is due.
    Result<void> wait(std::optional<uint64_t> limit_ns);
  private:
    struct Timer {
        uint64_t due, period;
        std::function<void()> fn;
    };
    struct Watch {
        int fd;
        std::function<void()> fn;
    };
    std::optional<uint64_t> next_due(std::optional<uint64_t> limit_ns) const;
    void run_timers();

    UniqueFd signals_;
    std::function<void(int)> signal_;
    std::vector<Timer> timers_;
    std::vector<Watch> watches_;
};

}  // namespace kpl
