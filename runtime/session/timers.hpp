// SPDX-License-Identifier: MIT
// Timers: the callbacks that a script wants every so many seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "luahost/declarations.hpp"

namespace kpl {

uint64_t monotonic_ns();

class Timers {
  public:
    void add(double seconds, CallbackId callback);
    // The periods of those that were added begin.
    void start();

    // Runs what is due, in the order in which it was added. A late timer runs once, not once for each period it missed.
    // Callbacks may add timers; the first error ends the turn.
    Result<void> run(const std::function<Result<void>(CallbackId)>& call);
    std::optional<uint64_t> left() const;  // ns until one is due; nothing: there are none

    size_t size() const { return timers_.size(); }
    // The callbacks of those behind the first `size`, which are forgotten.
    std::vector<CallbackId> cut(size_t size);

  private:
    struct Timer {
        uint64_t due;  // 0: not started
        uint64_t period;
        CallbackId callback;
    };
    std::vector<Timer> timers_;
};

}  // namespace kpl
