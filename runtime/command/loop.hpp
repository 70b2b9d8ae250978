// SPDX-License-Identifier: MIT
// Loop: waits for the session, signals and the end of -c's program, in one place.
#pragma once

#include <signal.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace kpl {

class Loop {
  public:
    // From now on the first SIGINT or SIGTERM, and each SIGUSR1, is an event. A second SIGINT or SIGTERM ends the
    // process, whatever it does: a callback of the script may never return.
    static Result<Loop> create();
    Loop(Loop&&) = default;
    Loop& operator=(Loop&&) = delete;
    ~Loop();  // signals act as before it

    void watch(int fd, std::function<void()> fn);  // while it is readable
    void unwatch(int fd);
    static bool end_asked();  // by SIGINT or SIGTERM, even before wait() has told
    void on_signal(std::function<void(int)> fn) { signal_ = std::move(fn); }

    // Waits for at most `limit_ns` (nullopt: until something happens), or until `fd` (-1: none) is readable; then runs
    // what is due.
    Result<void> wait(std::optional<uint64_t> limit_ns, int fd);

  private:
    struct Watch {
        int fd;
        std::function<void()> fn;
    };

    Loop() = default;
    void take(int signal);

    UniqueFd signals_;  // none: moved from
    std::vector<std::pair<int, struct sigaction>> before_;
    std::function<void(int)> signal_;
    std::vector<Watch> watches_;
};

}  // namespace kpl
