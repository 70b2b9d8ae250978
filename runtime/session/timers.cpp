// SPDX-License-Identifier: MIT
#include "session/timers.hpp"

#include <time.h>

#include <algorithm>

namespace kpl {

uint64_t monotonic_ns() {
    timespec ts{};
    ::clock_gettime(CLOCK_MONOTONIC, &ts);
    return static_cast<uint64_t>(ts.tv_sec) * 1000000000u + static_cast<uint64_t>(ts.tv_nsec);
}

// At most a century: what is longer never comes.
void Timers::add(double seconds, CallbackId callback) {
    constexpr double longest = 3e9;
    timers_.push_back({0, static_cast<uint64_t>(std::min(seconds, longest) * 1e9), callback});
}

void Timers::start() {
    for (Timer& timer : timers_)
        if (!timer.due) timer.due = monotonic_ns() + timer.period;
}

Result<void> Timers::run(const std::function<Result<void>(CallbackId)>& call) {
    for (size_t i = 0; i < timers_.size(); i++) {
        const uint64_t now = monotonic_ns();
        if (!timers_[i].due || timers_[i].due > now) continue;
        timers_[i].due = std::max(timers_[i].due + timers_[i].period, now + 1);
        TRY(call(timers_[i].callback));
    }
    return {};
}

std::optional<uint64_t> Timers::left() const {
    const uint64_t now = monotonic_ns();
    std::optional<uint64_t> least;
    for (const Timer& timer : timers_) {
        const uint64_t left = timer.due > now ? timer.due - now : 0;
        if (timer.due && (!least || left < *least)) least = left;
    }
    return least;
}

std::vector<CallbackId> Timers::cut(size_t size) {
    std::vector<CallbackId> callbacks;
    while (timers_.size() > size) {
        callbacks.push_back(timers_.back().callback);
        timers_.pop_back();
    }
    return callbacks;
}

}  // namespace kpl
