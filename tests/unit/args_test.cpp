// SPDX-License-Identifier: MIT
// What the module says of calls' arguments by themselves, at the edges; where two things are wrong, of which it tells.
#include "core/args.h"

#include <linux/perf_event.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <initializer_list>
#include <map>
#include <string>

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"  // what a row does not name is 0

namespace {

constexpr uint32_t page = 4096, regs_size = 168, last = 65536;  // last: of the rings that there are

template <class T>
struct Row {
    T arg;
    int error;
};

// Of each call: whether an argument was accepted, and one refused.
struct Seen {
    bool accepted = false, refused = false;
};
using AllSeen = std::map<std::string, Seen>;

template <class T, class Check>
void check_rows(Seen& seen, Check check, std::initializer_list<Row<T>> rows) {
    int nr = 0;
    for (const Row<T>& row : rows) {
        INFO("row " << nr++);
        CHECK(check(&row.arg) == -row.error);
        (row.error ? seen.refused : seen.accepted) = true;
    }
}

#define ROWS(call, type, check, ...)                        \
    do {                                                    \
        INFO(#call);                                        \
        check_rows<type>(all[#call], check, {__VA_ARGS__}); \
    } while (0)

void maps(AllSeen& all) {
    ROWS(map_create, kpl_map_create, kpl_check_map_create, {{}, 0}, {{.kind = KPL_MAP_KINDS}, EINVAL},
         {{.key_size = KPL_MAX_KEY, .max_entries = KPL_MAX_ENTRIES}, 0}, {{.key_size = KPL_MAX_KEY + 8}, E2BIG},
         {{.key_size = 7}, EINVAL}, {{.max_entries = KPL_MAX_ENTRIES + 1}, E2BIG}, {{.value_size = 8}, EINVAL},
         {{.key_size = 8, .key_string = 1}, 0}, {{.key_size = 8, .key_string = 2}, EINVAL}, {{.reserved = 1}, EINVAL},
         {{.key_size = KPL_MAX_KEY + 8, .reserved = 1}, EINVAL}, {{.lo = 1}, EINVAL},
         {{.kind = KPL_MAP_HASH, .key_size = 8, .value_size = KPL_MAX_VALUE}, 0},
         {{.kind = KPL_MAP_HASH, .key_size = 8, .value_size = KPL_MAX_VALUE + 8}, E2BIG},
         {{.kind = KPL_MAP_HASH, .key_size = 8}, EINVAL}, {{.kind = KPL_MAP_HASH, .value_size = 8}, EINVAL},
         {{.kind = KPL_MAP_LHIST, .hi = KPL_MAX_HIST_SLOTS - 2, .step = 1}, 0},
         {{.kind = KPL_MAP_LHIST, .hi = KPL_MAX_HIST_SLOTS - 1, .step = 1}, E2BIG},
         {{.kind = KPL_MAP_LHIST, .hi = 1, .step = 2}, EINVAL}, {{.kind = KPL_MAP_LHIST, .hi = 1}, EINVAL});
    ROWS(map_clear, kpl_map_clear, kpl_check_map_clear, {{.id = ~0u}, 0}, {{.reserved = 1}, EINVAL});
    ROWS(map_op, kpl_map_op, kpl_check_map_op, {{.op = KPL_MAP_NEXT, .cursor = 1}, 0}, {{.op = KPL_MAP_DELETE}, 0},
         {{.op = KPL_MAP_NEXT + 1}, EINVAL}, {{.op = KPL_MAP_GET, .cursor = 1}, EINVAL});
}

void programs(AllSeen& all) {
    ROWS(prog_load, kpl_prog_load, kpl_check_prog_load, {{.nr_insns = 1}, 0}, {{}, EINVAL},
         {{.nr_insns = KPL_MAX_INSNS, .nr_labels = KPL_MAX_LABELS}, 0}, {{.nr_insns = KPL_MAX_INSNS + 1}, E2BIG},
         {{.nr_labels = KPL_MAX_LABELS + 1}, E2BIG}, {{.nr_insns = 1, .kind = KPL_PROG_KINDS}, EINVAL},
         {{.nr_insns = 1, .data_size = KPL_MAX_DATA}, 0}, {{.nr_insns = 1, .data_size = KPL_MAX_DATA + 1}, E2BIG},
         {{.nr_insns = 1, .scratch_size = KPL_MAX_SCRATCH}, 0},
         {{.nr_insns = 1, .scratch_size = KPL_MAX_SCRATCH + 1}, E2BIG}, {{.nr_insns = 1, .budget = KPL_MAX_BUDGET}, 0},
         {{.nr_insns = 1, .budget = KPL_MAX_BUDGET + 1}, E2BIG}, {{.nr_insns = 1, .flags = 3}, 0},
         {{.nr_insns = 1, .flags = 4}, EINVAL}, {{.nr_insns = ~0u, .reserved = 1}, EINVAL});
    const auto run = [](const kpl_prog_run* arg) { return kpl_check_prog_run(arg, regs_size); };
    ROWS(prog_run, kpl_prog_run, run,
         {{.repeat = KPL_MAX_REPEAT, .regs_size = regs_size, .data_size = KPL_MAX_DATA}, 0},
         {{.repeat = KPL_MAX_REPEAT + 1}, EINVAL}, {{.regs_size = regs_size + 1}, EINVAL},
         {{.data_size = KPL_MAX_DATA + 1}, EINVAL});
    ROWS(prog_native, kpl_prog_native, kpl_check_prog_native, {{.nr_starts = ~0u}, 0}, {{.reserved = 1}, EINVAL});
}

void rings(AllSeen& all) {
    const auto setup = [](const kpl_ring_setup* arg) { return kpl_check_ring_setup(arg, page); };
    ROWS(ring_setup, kpl_ring_setup, setup, {{.size = page}, 0}, {{.size = page / 2}, EINVAL}, {{}, EINVAL},
         {{.size = page + 8}, EINVAL}, {{.size = KPL_MAX_RING}, 0}, {{.size = 2 * KPL_MAX_RING}, E2BIG},
         {{.size = ~0u}, EINVAL});
    const auto spare = [](const kpl_ring_spare* arg) { return kpl_check_ring_spare(arg, last); };
    ROWS(ring_spare, kpl_ring_spare, spare, {{.size = 2 * last}, 0}, {{.size = last}, EINVAL},
         {{.size = 3 * last}, EINVAL}, {{.size = KPL_MAX_RING}, 0}, {{.size = 2 * KPL_MAX_RING}, E2BIG},
         {{.size = 2 * KPL_MAX_RING, .reserved = 1}, EINVAL});
    ROWS(ring_offer, kpl_ring_offer, kpl_check_ring_offer, {{.nr = ~0u}, 0}, {{.reserved = 1}, EINVAL});
}

void probes(AllSeen& all) {
    ROWS(attach, kpl_attach_batch, kpl_check_attach_batch, {{.nr = 1}, 0}, {{.nr = KPL_MAX_PROBES}, 0}, {{}, EINVAL},
         {{.nr = KPL_MAX_PROBES + 1}, E2BIG});
    const auto plain = [](const kpl_attach* arg) {
        const kpl_attach_rules rules = {};
        return kpl_check_attach(arg, &rules);
    };
    ROWS(attach, kpl_attach, plain, {{.flags = KPL_ATTACH_F_ALL, .when = {.mask = KPL_WHEN_ALL}}, 0},
         {{.when = {.mask = KPL_WHEN_ALL + 1}}, EINVAL}, {{.flags = KPL_ATTACH_F_ENTRY}, EINVAL},
         {{.maxactive = 1}, EINVAL}, {{.period = 1}, EINVAL}, {{.event = 1}, EINVAL}, {{.len = 1}, EINVAL},
         {{.semaphore = 1}, EINVAL}, {{.fd = 1}, EINVAL}, {{.stack_args = 1}, EINVAL});
    const auto direct = [](const kpl_attach* arg) {
        const kpl_attach_rules rules = {KPL_ATTACH_F_ENTRY, 5, KPL_TAKES_STACK_ARGS};
        return kpl_check_attach(arg, &rules);
    };
    ROWS(attach, kpl_attach, direct, {{.flags = KPL_ATTACH_F_ENTRY, .maxactive = 5, .stack_args = ~0u}, 0},
         {{.maxactive = 6}, E2BIG}, {{.flags = KPL_ATTACH_F_ELSE_KPROBE, .maxactive = 6}, EINVAL},
         {{.period = 1}, EINVAL}, {{.event = 1}, EINVAL}, {{.len = 1}, EINVAL}, {{.fd = 1}, EINVAL});
    const auto event = [](const kpl_attach* arg) {
        const kpl_attach_rules rules = {.takes = KPL_TAKES_EVENT};
        return kpl_check_attach(arg, &rules);
    };
    ROWS(attach, kpl_attach, event, {{.period = 1}, EINVAL}, {{.period = 1, .event = KPL_EVENTS}, EINVAL},
         {{.period = 1, .event = KPL_EVENT_WRITE}, EINVAL}, {{.period = 1, .event = ~0u}, EINVAL},
         {{.period = 1, .event = KPL_EVENT_PROFILE}, 0}, {{.event = KPL_EVENT_PROFILE}, EINVAL},
         {{.period = KPL_MAX_HZ, .event = KPL_EVENT_PROFILE}, 0},
         {{.period = KPL_MAX_HZ + 1, .event = KPL_EVENT_PROFILE}, EINVAL},
         {{.addr = 1, .period = 1, .event = KPL_EVENT_PROFILE}, EINVAL},
         {{.period = KPL_MIN_INTERVAL, .event = KPL_EVENT_INTERVAL}, 0},
         {{.period = KPL_MIN_INTERVAL - 1, .event = KPL_EVENT_INTERVAL}, EINVAL},
         {{.period = INT64_MAX, .event = KPL_EVENT_INTERVAL}, 0},
         {{.period = INT64_MAX + 1ull, .event = KPL_EVENT_INTERVAL}, EINVAL},
         {{.addr = 1, .period = KPL_MIN_INTERVAL, .event = KPL_EVENT_INTERVAL}, EINVAL},
         {{.addr = PERF_COUNT_SW_CPU_CLOCK, .period = KPL_MIN_INTERVAL, .event = KPL_EVENT_SOFTWARE}, 0},
         {{.addr = PERF_COUNT_SW_CPU_CLOCK, .period = KPL_MIN_INTERVAL - 1, .event = KPL_EVENT_SOFTWARE}, EINVAL},
         {{.addr = PERF_COUNT_SW_TASK_CLOCK, .period = KPL_MIN_INTERVAL - 1, .event = KPL_EVENT_SOFTWARE}, EINVAL},
         {{.addr = PERF_COUNT_SW_PAGE_FAULTS, .period = 1, .event = KPL_EVENT_SOFTWARE}, 0},
         {{.addr = PERF_COUNT_SW_PAGE_FAULTS, .event = KPL_EVENT_SOFTWARE}, EINVAL},
         {{.addr = PERF_COUNT_SW_MAX - 1, .period = INT64_MAX, .event = KPL_EVENT_SOFTWARE}, 0},
         {{.addr = PERF_COUNT_SW_MAX, .period = 1, .event = KPL_EVENT_SOFTWARE}, EINVAL},
         {{.addr = PERF_COUNT_HW_CPU_CYCLES, .period = 1, .event = KPL_EVENT_HARDWARE}, 0},
         {{.addr = PERF_COUNT_HW_INSTRUCTIONS, .period = 1, .event = KPL_EVENT_HARDWARE}, 0},
         {{.addr = PERF_COUNT_HW_MAX, .period = 1, .event = KPL_EVENT_HARDWARE}, EINVAL},
         {{.addr = 1ull << 32, .period = 1, .event = KPL_EVENT_HARDWARE}, EINVAL},
         {{.period = INT64_MAX + 1ull, .event = KPL_EVENT_HARDWARE}, EINVAL},
         {{.period = 1, .event = KPL_EVENT_PROFILE, .len = 1}, EINVAL},
         {{.period = 1, .event = KPL_EVENT_PROFILE, .fd = 1}, EINVAL},
         {{.period = 1, .event = KPL_EVENT_PROFILE, .stack_args = 1}, EINVAL});
    const auto watch = [](const kpl_attach* arg) {
        const kpl_attach_rules rules = {.takes = KPL_TAKES_WATCH};
        return kpl_check_attach(arg, &rules);
    };
    ROWS(attach, kpl_attach, watch, {{.addr = 1, .event = KPL_EVENT_WRITE, .len = 1}, 0},
         {{.addr = 2, .event = KPL_EVENT_ACCESS, .len = 2}, 0}, {{.addr = 4, .event = KPL_EVENT_WRITE, .len = 4}, 0},
         {{.addr = 8, .event = KPL_EVENT_WRITE, .len = 8}, 0}, {{.event = KPL_EVENT_WRITE}, EINVAL},
         {{.event = KPL_EVENT_WRITE, .len = 3}, EINVAL}, {{.event = KPL_EVENT_WRITE, .len = 16}, EINVAL},
         {{.addr = 1, .event = KPL_EVENT_WRITE, .len = 2}, EINVAL},
         {{.addr = 4, .event = KPL_EVENT_WRITE, .len = 8}, EINVAL}, {{.len = 8}, EINVAL},
         {{.event = KPL_EVENT_HARDWARE, .len = 8}, EINVAL}, {{.event = KPL_EVENTS, .len = 8}, EINVAL},
         {{.period = 1, .event = KPL_EVENT_WRITE, .len = 8}, EINVAL},
         {{.event = KPL_EVENT_WRITE, .len = 8, .semaphore = 1}, EINVAL});
    const auto file = [](const kpl_attach* arg) {
        const kpl_attach_rules rules = {.takes = KPL_TAKES_FILE};
        return kpl_check_attach(arg, &rules);
    };
    ROWS(attach, kpl_attach, file, {{.fd = ~0u}, 0}, {{.addr = INT64_MAX, .semaphore = INT64_MAX, .fd = 1}, 0},
         {{.addr = 1ull << 63, .fd = 1}, EINVAL}, {{.semaphore = 1ull << 63, .fd = 1}, EINVAL},
         {{.event = 1, .fd = 1}, EINVAL}, {{.len = 1, .fd = 1}, EINVAL}, {{.fd = 1, .stack_args = 1}, EINVAL});
    ROWS(control, kpl_control, kpl_check_control, {{.nr = KPL_MAX_PROBES, .op = KPL_CTL_DETACH}, 0}, {{}, EINVAL},
         {{.nr = KPL_MAX_PROBES + 1}, E2BIG}, {{.nr = ~0u, .op = KPL_CTL_DETACH + 1}, EINVAL});
    ROWS(stats, kpl_stats, kpl_check_stats, {{}, 0}, {{.nr = KPL_MAX_PROBES}, 0}, {{.nr = KPL_MAX_PROBES + 1}, E2BIG},
         {{.nr = 1, .reserved = 1}, EINVAL});
}

void session(AllSeen& all) {
    ROWS(pid, kpl_pid, kpl_check_pid, {{.pid = ~0u}, 0}, {{.pid = 1, .reserved = 1}, EINVAL});
    ROWS(free, kpl_free, kpl_check_free, {{.kind = KPL_FREE_MAP, .id = ~0u}, 0}, {{.kind = KPL_FREE_PROG}, 0},
         {{.kind = KPL_FREE_PROG + 1}, EINVAL}, {{.kind = ~0u}, EINVAL});
    ROWS(share, kpl_share, kpl_check_share, {{.percent = 1}, 0}, {{.percent = KPL_SHARE_OFF}, 0}, {{}, EINVAL},
         {{.percent = KPL_SHARE_OFF + 1}, EINVAL}, {{.percent = 1, .reserved = 1}, EINVAL});
    ROWS(title, kpl_title, kpl_check_title, {{.name = "a", .dead_man = KPL_MAX_DEAD_MAN}, 0},
         {{.dead_man = KPL_MAX_DEAD_MAN + 1}, EINVAL}, {{.reserved = 1}, EINVAL});
    kpl_title title = {};
    for (char& c : title.name) c = 'a';
    CHECK(kpl_check_title(&title) == -EINVAL);
    title.name[KPL_TITLE_SIZE - 1] = 0;
    CHECK(kpl_check_title(&title) == 0);
    ROWS(rights, kpl_rights, kpl_check_rights, {{}, 0}, {{.rights = 3}, 0}, {{.rights = 4}, EINVAL},
         {{.rights = 1, .reserved = 1}, EINVAL});
    ROWS(bench, kpl_bench, kpl_check_bench, {{.calls = KPL_MAX_BENCH}, 0}, {{.calls = KPL_MAX_BENCH + 1}, E2BIG},
         {{}, EINVAL}, {{.function = KPL_BENCH_FUNCTIONS, .calls = ~0u}, EINVAL});
}

}  // namespace

TEST_CASE("each call's argument is accepted or refused at its edges, and no call is forgotten") {
    AllSeen all;
    maps(all);
    programs(all);
    rings(all);
    probes(all);
    session(all);
    enum { LOCKED = 0, GOES_ON = 0, UNCHECKED = 1 };
#define IOCTL(nr, name, flags)                                \
    {                                                         \
        INFO(#name);                                          \
        CHECK(all[#name].accepted == ((flags) != UNCHECKED)); \
        CHECK(all[#name].refused == ((flags) != UNCHECKED));  \
    }
#include "ioctls.def"
#undef IOCTL
}
