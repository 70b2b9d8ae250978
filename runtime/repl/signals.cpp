// SPDX-License-Identifier: MIT
#include "repl/signals.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "session/timers.hpp"

namespace kpl {
namespace {

constexpr uint64_t again_ns = 300'000'000;  // after an attempt to stop code, another ^C is meant to end it all

// What signal handlers touch.
struct State {
    std::atomic<LuaHost*> host{nullptr};
    std::atomic<uint64_t> stop_from{0};  // code runs that ^C stops from this time on; 0: none
    std::atomic<uint64_t> asked_at{0};   // to stop
    std::atomic<bool> interrupted{false}, resized{false}, stopped{false}, print_asked{false}, ended{false};
    int wake = -1;
    bool has_terminal = false;
    termios terminal{};
};
State state;

constexpr int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, SIGUSR1};
struct sigaction before[std::size(taken)];

void end_as_signal(int signal) {
    if (state.has_terminal) ::tcsetattr(STDIN_FILENO, TCSANOW, &state.terminal);
    ::signal(signal, SIG_DFL);
    ::raise(signal);  // delivered when this handler returns
}

void stop_code(int signal, uint64_t now) {
    const uint64_t asked = state.asked_at;
    if (asked && now - asked > again_ns) return end_as_signal(signal);
    if (!asked) state.asked_at = now;
    state.host.load()->interrupt();
}

void on_signal_of_prompt(int signal) {
    const int saved = errno;
    const uint64_t now = monotonic_ns(), from = state.stop_from;
    const bool stops = from && now >= from;
    switch (signal) {
        case SIGINT:
            state.interrupted = true;
            if (stops) stop_code(signal, now);
            break;
        case SIGWINCH: state.resized = true; break;
        case SIGTSTP: state.stopped = true; break;
        case SIGUSR1: state.print_asked = true; break;
        default:
            state.ended = true;
            if (from) stop_code(signal, now);
    }
    const uint64_t one = 1;
    if (::write(state.wake, &one, sizeof one) < 0) errno = 0;  // full: it wakes all the same
    errno = saved;
}

}  // namespace

Result<std::unique_ptr<Signals>> Signals::take(LuaHost& host) {
    std::unique_ptr<Signals> signals(new Signals(host));
    state.wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (state.wake < 0) return Error{Errc::system, std::string("signals: ") + std::strerror(errno)};
    state.host = &host;
    state.has_terminal = ::tcgetattr(STDIN_FILENO, &state.terminal) == 0;
    struct sigaction action {};
    action.sa_handler = on_signal_of_prompt;
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < std::size(taken); i++) ::sigaction(taken[i], &action, &before[i]);
    return signals;
}

Signals::~Signals() {
    for (size_t i = 0; i < std::size(taken) && state.host.load() == &host_; i++)
        ::sigaction(taken[i], &before[i], nullptr);
    state.host = nullptr;
    if (state.wake >= 0) ::close(std::exchange(state.wake, -1));
}

int Signals::fd() const { return state.wake; }
void Signals::clear() {
    uint64_t arrivals = 0;
    if (::read(state.wake, &arrivals, sizeof arrivals) < 0) errno = 0;
}
bool Signals::interrupted() { return state.interrupted.exchange(false); }
bool Signals::resized() { return state.resized.exchange(false); }
bool Signals::stopped() { return state.stopped.exchange(false); }
bool Signals::print_asked() { return state.print_asked.exchange(false); }
bool Signals::ended() const { return state.ended; }

Signals::Running::Running(Signals& signals, uint64_t patience_ns) : signals_(signals) {
    state.asked_at = 0;
    state.stop_from = monotonic_ns() + patience_ns;
}

bool Signals::Running::stopped() const { return state.asked_at != 0; }

Signals::Running::~Running() {
    state.stop_from = 0;
    if (state.asked_at.exchange(0)) state.interrupted = false;  // it has been heeded
    signals_.host_.calm();
}

}  // namespace kpl
