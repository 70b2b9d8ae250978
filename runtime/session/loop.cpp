// SPDX-License-Identifier: MIT
#include "session/loop.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kpl {
namespace {

sigset_t handled_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (int signal : {SIGINT, SIGTERM, SIGUSR1}) ::sigaddset(&set, signal);
    return set;
}

}  // namespace

uint64_t monotonic_ns() {
    timespec ts{};
    ::clock_gettime(CLOCK_MONOTONIC, &ts);
    return static_cast<uint64_t>(ts.tv_sec) * 1000000000u + static_cast<uint64_t>(ts.tv_nsec);
}

Result<Loop> Loop::create() {
    Loop loop;
    const sigset_t set = handled_signals();
    if (::sigprocmask(SIG_BLOCK, &set, nullptr) < 0) return Error{Errc::system, std::string("signals: ") + std::strerror(errno)};
    loop.signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!loop.signals_) return Error{Errc::system, std::string("signals: ") + std::strerror(errno)};
    return loop;
}

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
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == sizeof info)
        if (signal_) signal_(static_cast<int>(info.ssi_signo));
    run_timers();
    return {};
}

void Loop::release_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (int signal : {SIGINT, SIGTERM}) ::sigaddset(&set, signal);
    ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace kpl
