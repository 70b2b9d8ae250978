// SPDX-License-Identifier: MIT
// libFuzzer: calls' arguments against what the module checks of each by itself. What is accepted is within the limits
// that the code behind relies on, and nothing else is looked at. A row of kmod/ioctls.def without a call<> here is not
// linked.
#include <linux/perf_event.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "core/agg.h"
#include "core/args.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr uint32_t page = 4096, regs_size = 21 * 8;

void must(bool holds) {
    if (!holds) std::abort();
}

// Whether it accepts; what it refuses, it refuses for one of two reasons.
bool accepted(int err) {
    must(err == 0 || err == -EINVAL || err == -E2BIG);
    return err == 0;
}

// Zeros follow its end.
struct Input {
    const uint8_t* data;
    size_t size;

    template <class T>
    T take() {
        T value{};
        const size_t n = size < sizeof value ? size : sizeof value;
        std::memcpy(&value, data, n);
        data += n;
        size -= n;
        return value;
    }
};

// An argument that needs nothing beside it.
template <class T, class Holds>
void alone(Input& in, int (*check)(const T*), Holds holds) {
    const T arg = in.take<T>();
    if (accepted(check(&arg))) must(holds(arg));
}

// What bytes a map takes of each CPU can be computed without an overflow, and is less than 2^40.
bool map_fits(const kpl_map_create& arg) {
    must(!arg.reserved && arg.kind < KPL_MAP_KINDS && arg.key_size <= KPL_MAX_KEY && arg.key_size % 8 == 0);
    must(arg.value_size <= KPL_MAX_VALUE && arg.value_size % 8 == 0 && arg.max_entries <= KPL_MAX_ENTRIES);
    must(arg.key_string * 8ull <= arg.key_size);
    if (arg.kind == KPL_MAP_HASH) {
        must(arg.key_size && arg.value_size && !arg.lo && !arg.hi && !arg.step);
        return true;
    }
    const uint32_t words = kpl_agg_words(&kpl_agg_descs[arg.kind], arg.lo, arg.hi, arg.step);
    must(words > 0 && words <= KPL_MAX_HIST_SLOTS + 4);
    must((uint64_t{arg.key_size} + words * 8ull + 64) * (uint64_t{arg.max_entries} + 1) < 1ull << 40);
    if (kpl_agg_descs[arg.kind].slots != KPL_SLOTS_STEPS) return true;
    const int64_t edges[] = {INT64_MIN, arg.lo - (arg.lo > INT64_MIN), arg.lo, arg.hi - 1, arg.hi, INT64_MAX};
    for (const int64_t value : edges) must(kpl_lhist_slot(arg.lo, arg.step, words, value) < words);
    return true;
}

// How often a clock ticks can be computed from its period, and the kernel takes such an event.
void event_fits(const kpl_attach& arg) {
    must(arg.event > KPL_EVENT_NONE && arg.event <= KPL_EVENT_HARDWARE && arg.period > 0 && !(arg.period >> 63));
    must(arg.addr < PERF_COUNT_SW_MAX && !arg.len);
    if (arg.event == KPL_EVENT_PROFILE) return must(arg.period <= KPL_MAX_HZ);
    must(!kpl_is_clock(arg.event, arg.addr) || arg.period >= KPL_MIN_INTERVAL);
}

// One for each call that has checks.
template <unsigned nr>
void call(Input& in);

template <>
void call<KPL_IOC_RING_SETUP>(Input& in) {
    const auto arg = in.take<kpl_ring_setup>();
    if (accepted(kpl_check_ring_setup(&arg, page)))
        must(arg.size >= page && arg.size <= KPL_MAX_RING && arg.size % page == 0);
}

template <>
void call<KPL_IOC_RING_SPARE>(Input& in) {
    const auto last = uint32_t{1} << (12 + in.take<uint8_t>() % 15);  // to KPL_MAX_RING
    const auto arg = in.take<kpl_ring_spare>();
    if (accepted(kpl_check_ring_spare(&arg, last)))
        must(arg.size > last && arg.size <= KPL_MAX_RING && arg.size % last == 0 && !arg.reserved);
}

template <>
void call<KPL_IOC_RING_OFFER>(Input& in) {
    alone(in, kpl_check_ring_offer, [](auto& arg) { return !arg.reserved; });
}

template <>
void call<KPL_IOC_MAP_CREATE>(Input& in) {
    alone(in, kpl_check_map_create, map_fits);
}

template <>
void call<KPL_IOC_MAP_CLEAR>(Input& in) {
    alone(in, kpl_check_map_clear, [](auto& arg) { return !arg.reserved; });
}

template <>
void call<KPL_IOC_MAP_OP>(Input& in) {
    alone(in, kpl_check_map_op,
          [](auto& arg) { return arg.op <= KPL_MAP_NEXT && (arg.op == KPL_MAP_NEXT || !arg.cursor); });
}

template <>
void call<KPL_IOC_PROG_LOAD>(Input& in) {
    alone(in, kpl_check_prog_load, [](auto& arg) {
        must(arg.nr_insns > 0 && arg.nr_insns <= KPL_MAX_INSNS && arg.nr_labels <= KPL_MAX_LABELS);
        must(arg.kind < KPL_PROG_KINDS && arg.budget <= KPL_MAX_BUDGET && !arg.reserved);
        must(!(arg.flags & ~(KPL_PROG_F_INTERPRET | KPL_PROG_F_PLACES)));
        return arg.data_size <= KPL_MAX_DATA && arg.scratch_size <= KPL_MAX_SCRATCH;
    });
}

template <>
void call<KPL_IOC_PROG_RUN>(Input& in) {
    const auto arg = in.take<kpl_prog_run>();
    if (accepted(kpl_check_prog_run(&arg, regs_size)))
        must(arg.repeat <= KPL_MAX_REPEAT && arg.regs_size <= regs_size && arg.data_size <= KPL_MAX_DATA);
}

template <>
void call<KPL_IOC_PROG_NATIVE>(Input& in) {
    alone(in, kpl_check_prog_native, [](auto& arg) { return !arg.reserved; });
}

// The batch, or one of its elements.
template <>
void call<KPL_IOC_ATTACH>(Input& in) {
    if (in.take<uint8_t>() % 4 == 0)
        return alone(in, kpl_check_attach_batch, [](auto& arg) { return arg.nr > 0 && arg.nr <= KPL_MAX_PROBES; });
    const auto rules = in.take<kpl_attach_rules>();
    const auto arg = in.take<kpl_attach>();
    if (!accepted(kpl_check_attach(&arg, &rules))) return;
    must(arg.maxactive <= rules.maxactive && !(arg.when.mask & ~KPL_WHEN_ALL));
    must(!(arg.flags & ~(KPL_ATTACH_F_ALL | rules.flags)));
    must(rules.takes == KPL_TAKES_STACK_ARGS || !arg.stack_args);
    must(rules.takes == KPL_TAKES_FILE ? !((arg.addr | arg.semaphore) >> 63) : !(arg.semaphore || arg.fd));
    if (rules.takes == KPL_TAKES_EVENT) return event_fits(arg);
    must(!arg.period);
    if (rules.takes == KPL_TAKES_WATCH)
        return must((arg.len & (arg.len - 1)) == 0 && arg.len - 1 < 8 && arg.addr % arg.len == 0);
    must(!arg.event && !arg.len);
}

template <>
void call<KPL_IOC_CONTROL>(Input& in) {
    alone(in, kpl_check_control,
          [](auto& arg) { return arg.nr > 0 && arg.nr <= KPL_MAX_PROBES && arg.op <= KPL_CTL_DETACH; });
}

template <>
void call<KPL_IOC_STATS>(Input& in) {
    alone(in, kpl_check_stats, [](auto& arg) { return !arg.reserved && arg.nr <= KPL_MAX_PROBES; });
}

template <>
void call<KPL_IOC_PID>(Input& in) {
    alone(in, kpl_check_pid, [](auto& arg) { return !arg.reserved; });
}

template <>
void call<KPL_IOC_FREE>(Input& in) {
    alone(in, kpl_check_free, [](auto& arg) { return arg.kind == KPL_FREE_MAP || arg.kind == KPL_FREE_PROG; });
}

// A share is what a CPU's time is multiplied by, and is never nothing.
template <>
void call<KPL_IOC_SHARE>(Input& in) {
    alone(in, kpl_check_share, [](auto& arg) { return arg.percent - 1 < 100 && !arg.reserved; });
}

template <>
void call<KPL_IOC_TITLE>(Input& in) {
    alone(in, kpl_check_title, [](auto& arg) {
        must(arg.dead_man <= KPL_MAX_DEAD_MAN && !arg.reserved);
        return strnlen(arg.name, KPL_TITLE_SIZE) < KPL_TITLE_SIZE;
    });
}

template <>
void call<KPL_IOC_RIGHTS>(Input& in) {
    alone(in, kpl_check_rights,
          [](auto& arg) { return (arg.rights | KPL_RIGHT_ALL) == KPL_RIGHT_ALL && !arg.reserved; });
}

template <>
void call<KPL_IOC_BENCH>(Input& in) {
    alone(in, kpl_check_bench,
          [](auto& arg) { return arg.function < KPL_BENCH_FUNCTIONS && arg.calls > 0 && arg.calls <= KPL_MAX_BENCH; });
}

constexpr unsigned LOCKED = 0, GOES_ON = 0, UNCHECKED = 1;

template <unsigned nr, unsigned flags>
void row(Input& in) {
    if constexpr (flags != UNCHECKED) call<nr>(in);
}

constexpr void (*calls[])(Input&) = {
#define IOCTL(nr, name, flags) row<KPL_IOC_##nr, flags>,
#include "ioctls.def"
#undef IOCTL
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Input in{data, size};
    calls[in.take<uint8_t>() % std::size(calls)](in);
    return 0;
}
