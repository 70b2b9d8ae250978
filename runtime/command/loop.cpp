// SPDX-License-Identifier: MIT
#include "session/loop.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kpl {
namespace {

// What signal handlers touch; one Loop takes signals at a time.
volatile sig_atomic_t ends_asked = 0;
volatile sig_atomic_t prints_asked = 0;
volatile sig_atomic_t wake_fd = -1;

void on_signal_arrival(int signal) {
    const int saved = errno;
    if (signal == SIGUSR1) {
        prints_asked = 1;
    } else if (ends_asked) {
        ::signal(signal, SIG_DFL);
        ::raise(signal);  // delivered when this handler returns
    } else {
        ends_asked = 1;
    }
    const uint64_t one = 1;
    if (::write(wake_fd, &one, sizeof one) < 0) errno = 0;  // full: it wakes all the same
    errno = saved;
}

}  // namespace

uint64_t monotonic_ns() {
    timespec ts{};
    ::clock_gettime(CLOCK_MONOTONIC, &ts);
    return static_cast<uint64_t>(ts.tv_sec) * 1000000000u + static_cast<uint64_t>(ts.tv_nsec);
}

Result<Loop> Loop::create() {
    Loop loop;
    loop.signals_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!loop.signals_) return Error{Errc::system, std::string("signals: ") + std::strerror(errno)};
    wake_fd = loop.signals_.get();
    ends_asked = prints_asked = 0;
    struct sigaction action {};
    action.sa_handler = on_signal_arrival;
    action.sa_flags = SA_RESTART;
    for (int signal : {SIGINT, SIGTERM, SIGUSR1}) ::sigaction(signal, &action, nullptr);
    return loop;
}

bool Loop::end_asked() { return ends_asked != 0; }

void Loop::every(uint64_t period_ns, std::function<void()> fn) {
    timers_.push_back({monotonic_ns() + period_ns, period_ns, std::move(fn)});
}

void Loop::watch(int fd, std::function<void()> fn) { watches_.push_back({fd, std::move(fn)}); }

void Loop::unwatch(int fd) {
    std::erase_if(watches_, [fd](const Watch& w) { return w.fd == fd; });
}

std::optional<uint64_t> Loop::next_due(std::optional<uint64_t> limit_ns) const {
    const uint64_t now = monotonic_ns();
    std::optional<uint64_t> wait = limit_ns;
    for (const Timer& timer : timers_) {
        const uint64_t left = timer.due > now ? timer.due - now : 0;
        wait = wait ? std::min(*wait, left) : left;
    }
    return wait;
}

// Timers may be added by the functions that run. A late timer runs once, not once for each period it missed.
void Loop::run_timers() {
    for (size_t i = 0; i < timers_.size(); i++) {
        const uint64_t now = monotonic_ns();
        if (timers_[i].due > now) continue;
        timers_[i].due = std::max(timers_[i].due + timers_[i].period, now + 1);
        const auto fn = timers_[i].fn;
        fn();
    }
}

Result<void> Loop::wait(std::optional<uint64_t> limit_ns) {
    std::vector<pollfd> fds{{signals_.get(), POLLIN, 0}};
    for (const Watch& watch : watches_) fds.push_back({watch.fd, POLLIN, 0});
    const auto due = next_due(limit_ns);
    timespec ts{};
    if (due) ts = {static_cast<time_t>(*due / 1000000000u), static_cast<long>(*due % 1000000000u)};
    if (::ppoll(fds.data(), fds.size(), due ? &ts : nullptr, nullptr) < 0 && errno != EINTR)
        return Error{Errc::system, std::string("poll: ") + std::strerror(errno)};
    const auto watches = watches_;  // functions may unwatch
    for (size_t i = 0; i < watches.size(); i++)
        if (fds[i + 1].revents) watches[i].fn();
    uint64_t arrivals = 0;
    if (::read(signals_.get(), &arrivals, sizeof arrivals) == sizeof arrivals && signal_) {
        if (prints_asked) {
            prints_asked = 0;
            signal_(SIGUSR1);
        }
        if (ends_asked) signal_(SIGTERM);
    }
    run_timers();
    return {};
}

}  // namespace kpl
