// SPDX-License-Identifier: MIT
#include "output/names.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace kpl {
namespace {

constexpr int64_t second = 1000000000;

struct SyscallRow {
    uint64_t number;
    const char* name;
};
constexpr SyscallRow syscalls[] = {
#include "syscalls.inc"
};

std::string syscall_text(uint64_t number) {
    const auto at = std::lower_bound(std::begin(syscalls), std::end(syscalls), number,
                                     [](const SyscallRow& row, uint64_t n) { return row.number < n; });
    return at != std::end(syscalls) && at->number == number ? at->name : fmt::format("syscall_{}", number);
}

// Functions return errors as negative numbers.
std::string errno_text(int64_t n) {
    const int64_t positive = n < 0 ? -n : n;
    const char* name = positive && positive < 4096 ? strerrorname_np(static_cast<int>(positive)) : nullptr;
    return name ? name : std::to_string(n);
}

std::string signal_text(int64_t n) {
    if (n >= SIGRTMIN && n <= SIGRTMAX) return fmt::format("SIGRTMIN+{}", n - SIGRTMIN);
    const char* name = n > 0 && n < NSIG ? sigabbrev_np(static_cast<int>(n)) : nullptr;
    return name ? std::string("SIG") + name : std::to_string(n);
}

int64_t clock_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return now.tv_sec * second + now.tv_nsec;
}

}  // namespace

// The time of day may be set, and goes on while the machine sleeps. A small difference is the time between the two
// looks.
int64_t Names::wall_offset() {
    constexpr int64_t step = second / 10;
    const int64_t now = clock_ns(CLOCK_MONOTONIC);
    if (offset_at_ && now - offset_at_ < second) return wall_offset_;
    const int64_t offset = clock_ns(CLOCK_REALTIME) - now;
    if (!offset_at_ || std::abs(offset - wall_offset_) > step) wall_offset_ = offset;
    offset_at_ = now;
    return wall_offset_;
}

// strftime(3), and %f: microseconds.
std::string Names::time(const std::string& format, int64_t monotonic_ns) {
    const int64_t wall = monotonic_ns + wall_offset();
    std::string with_fraction;
    for (size_t i = 0; i < format.size(); i++) {
        const bool conversion = format[i] == '%' && i + 1 < format.size();
        if (conversion && format[i + 1] == 'f')
            with_fraction += fmt::format("{:06}", wall % second / 1000);
        else if (conversion)
            with_fraction += format.substr(i, 2);
        else
            with_fraction += format[i];
        i += conversion;
    }
    const time_t seconds = wall / second;
    tm parts{};
    localtime_r(&seconds, &parts);
    char text[4096];
    return {text, strftime(text, sizeof text, with_fraction.c_str(), &parts)};
}

std::string Names::text(const Naming& naming, uint64_t word) {
    const auto number = static_cast<int64_t>(word);
    switch (naming.what) {
        case Naming::What::Errno: return errno_text(number);
        case Naming::What::Signal: return signal_text(number);
        case Naming::What::Syscall: return syscall_text(word);
        case Naming::What::Cgroup: return cgroups_.path(word);
        case Naming::What::Time: return time(naming.detail, number);
        case Naming::What::Enum: break;
    }
    const auto at = naming.names.find(number);
    return at != naming.names.end() ? at->second : std::to_string(number);
}

}  // namespace kpl
