// SPDX-License-Identifier: MIT
#include "bench/loads.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

// Not in an anonymous namespace: the dynamic linker is asked where it is.
extern "C" [[gnu::noinline]] void kpl_bench_called() { asm volatile("" ::: "memory"); }

namespace kpl {
namespace {

// The mark kprobe_lua:bench, as <sys/sdt.h> would make it, without arguments and semaphore.
[[gnu::noinline]] void call_mark() {
    asm volatile(
        "990: nop\n"
        ".pushsection .note.stapsdt, \"?\", \"note\"\n"
        ".balign 4\n"
        ".4byte 992f - 991f, 994f - 993f, 3\n"
        "991: .asciz \"stapsdt\"\n"
        "992: .balign 4\n"
        "993: .8byte 990b, 0, 0\n"
        ".asciz \"kprobe_lua\", \"bench\", \"\"\n"
        "994: .balign 4\n"
        ".popsection\n");
}

uint64_t clock_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

template <class Call>
double timed(uint64_t calls, Call&& call) {
    const uint64_t began = clock_ns();
    for (uint64_t i = 0; i < calls; i++) call();
    return static_cast<double>(clock_ns() - began);
}

// Each page once; they are given back between, which is not timed.
double touch_pages(uint64_t& calls) {
    constexpr uint64_t pages = 256;
    const auto size = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    void* const area = ::mmap(nullptr, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) return 0;
    ::madvise(area, pages * size, MADV_NOHUGEPAGE);
    double ns = 0;
    calls = (calls + pages - 1) / pages * pages;
    for (uint64_t done = 0; done < calls; done += pages) {
        auto* page = static_cast<volatile char*>(area);
        ns += timed(pages, [&] {
            *page = 1;
            page += size;
        });
        ::madvise(area, pages * size, MADV_DONTNEED);
    }
    ::munmap(area, pages * size);
    return ns;
}

uint32_t function_of(Load load) {
    switch (load) {
        case Load::Stepped: return KPL_BENCH_STEPPED;
        case Load::Boosted: return KPL_BENCH_BOOSTED;
        case Load::Optimized: return KPL_BENCH_OPTIMIZED;
        case Load::Stores: return KPL_BENCH_STORES;
        default: return KPL_BENCH_TRACED;
    }
}

}  // namespace

InstructionCounter::InstructionCounter() {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = PERF_COUNT_HW_INSTRUCTIONS;
    attr.exclude_hv = 1;
    attr.pinned = 1;
    fd_.reset(static_cast<int>(::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (fd_) return;
    const bool none = errno == ENOENT || errno == EOPNOTSUPP || errno == ENODEV;
    why_not_ = none ? "this machine has no such counter; most virtual machines have none"
                    : fmt::format("perf_event_open: {}", std::strerror(errno));
}

std::optional<double> InstructionCounter::read() const {
    uint64_t value = 0;
    if (!fd_ || ::read(fd_.get(), &value, sizeof value) != sizeof value) return std::nullopt;
    return static_cast<double>(value);
}

Result<std::optional<Round>> Loads::run(Load load, uint64_t calls) {
    Round round;
    round.calls = calls;
    const auto before = counter_.read();
    switch (load) {
        case Load::Syscall: round.ns = timed(calls, [] { ::syscall(SYS_getpgid, 0); }); break;
        case Load::Rename: {
            char name[16];
            ::prctl(PR_GET_NAME, name);
            round.ns = timed(calls, [&name] { ::prctl(PR_SET_NAME, name); });
            break;
        }
        case Load::Program: round.ns = timed(calls, [] { kpl_bench_called(); }); break;
        case Load::Mark: round.ns = timed(calls, call_mark); break;
        case Load::Fault: round.ns = touch_pages(round.calls); break;
        default: {
            const auto ns = TRY(device_.bench(function_of(load), static_cast<uint32_t>(calls)));
            if (!ns) return std::optional<Round>();
            round.ns = static_cast<double>(*ns);
        }
    }
    const auto after = counter_.read();
    if (before && after) round.instructions = *after - *before;
    return std::optional(round);
}

Result<std::string> Loads::own_function() {
    Dl_info info{};
    char path[PATH_MAX];
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
    const auto address = reinterpret_cast<uintptr_t>(&kpl_bench_called);
    if (length < 0 || !::dladdr(reinterpret_cast<void*>(address), &info))
        return Error{Errc::system, "this program can't be found"};
    return fmt::format("{}:0x{:x}", std::string_view(path, static_cast<size_t>(length)),
                       address - reinterpret_cast<uintptr_t>(info.dli_fbase));
}

}  // namespace kpl
