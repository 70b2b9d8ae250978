// SPDX-License-Identifier: MIT
#include "command/progress.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <system_error>

namespace kpl {

using namespace std::chrono_literals;

Progress::Progress(const Device& device, bool lines) {
    const bool terminal = ::isatty(STDERR_FILENO);
    if (!terminal && !lines) return;
    // Signals interrupt the call, so they are for the thread that makes it.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = std::thread([this, &device, terminal] { run(device, terminal); });
    } catch (const std::system_error&) {  // no thread is to be had: without the line
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Progress::~Progress() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void Progress::run(const Device& device, bool terminal) {
    bool shown = false;
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, terminal ? 200ms : shown ? 1000ms : 500ms, [this] { return over_; })) {
        const auto info = device.info();
        if (!info || !info->work_total) continue;
        const uint64_t percent = uint64_t{100} * info->work_done / info->work_total;
        std::fprintf(stderr, "%sarming %u probes: %u %%%s", terminal ? "\r" : "", info->work_total / 2,
                     static_cast<unsigned>(percent), terminal ? "" : "\n");
        std::fflush(stderr);
        shown = true;
    }
    if (shown && terminal) std::fputs("\r\033[K", stderr);
}

}  // namespace kpl
