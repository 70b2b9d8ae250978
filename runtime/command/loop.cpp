// SPDX-License-Identifier: MIT
#include "command/loop.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

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

Result<Loop> Loop::create() {
    Loop loop;
    loop.signals_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!loop.signals_) return Error{Errc::system, std::string("signals: ") + std::strerror(errno)};
    wake_fd = loop.signals_.get();
    ends_asked = 0;
    prints_asked = 0;
    for (int signal : {SIGINT, SIGTERM, SIGUSR1}) loop.take(signal);
    struct sigaction hangup {};  // ignored from the start on: nohup wants it so
    if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) loop.take(SIGHUP);
    return loop;
}

void Loop::take(int signal) {
    struct sigaction action {
    }, before{};
    action.sa_handler = on_signal_arrival;
    action.sa_flags = SA_RESTART;
    if (::sigaction(signal, &action, &before) == 0) before_.emplace_back(signal, before);
}

// The handler first: the number of what it writes to is soon another file's.
Loop::~Loop() {
    if (!signals_) return;
    for (const auto& [signal, action] : before_) ::sigaction(signal, &action, nullptr);
    wake_fd = -1;
}

bool Loop::end_asked() { return ends_asked != 0; }

void Loop::watch(int fd, std::function<void()> fn) { watches_.push_back({fd, std::move(fn)}); }

void Loop::unwatch(int fd) {
    std::erase_if(watches_, [fd](const Watch& w) { return w.fd == fd; });
}

Result<void> Loop::wait(std::optional<uint64_t> limit_ns, int fd) {
    std::vector<pollfd> fds{{signals_.get(), POLLIN, 0}, {fd, POLLIN, 0}};  // poll() passes -1 over
    for (const Watch& watch : watches_) fds.push_back({watch.fd, POLLIN, 0});
    timespec ts{};
    if (limit_ns) ts = {static_cast<time_t>(*limit_ns / 1000000000u), static_cast<long>(*limit_ns % 1000000000u)};
    if (::ppoll(fds.data(), fds.size(), limit_ns ? &ts : nullptr, nullptr) < 0 && errno != EINTR)
        return Error{Errc::system, std::string("poll: ") + std::strerror(errno)};
    const auto watches = watches_;  // functions may unwatch
    for (size_t i = 0; i < watches.size(); i++)
        if (fds[i + 2].revents) watches[i].fn();
    uint64_t arrivals = 0;
    if (::read(signals_.get(), &arrivals, sizeof arrivals) != sizeof arrivals || !signal_) return {};
    if (prints_asked) {
        prints_asked = 0;
        signal_(SIGUSR1);
    }
    if (ends_asked) signal_(SIGTERM);
    return {};
}

}  // namespace kpl
