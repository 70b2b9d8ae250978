// SPDX-License-Identifier: MIT
#include "programs/map_stream.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace kpl {
namespace {

constexpr size_t ring_bytes = 128 << 10;  // of each processor; it is looked into once a second at least

perf_event_attr wanted_events() {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.sample_type = PERF_SAMPLE_TIME;
    attr.sample_id_all = 1;  // each record ends in its time
    attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
    attr.exclude_kernel = attr.exclude_hv = 1;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    return attr;
}

template <class T>
T load(const std::vector<uint8_t>& from, size_t at) {
    T value{};
    if (at + sizeof value <= from.size()) std::memcpy(&value, from.data() + at, sizeof value);
    return value;
}

// Of the records as perf_event_open(2) has them, header included.
CodeMapping mapping_of(const std::vector<uint8_t>& record) {
    constexpr size_t addr = 16, length = 24, offset = 32, major = 40, minor = 44, inode = 48, path = 72;
    CodeMapping m;
    m.start = load<uint64_t>(record, addr);
    m.end = m.start + load<uint64_t>(record, length);
    m.offset = load<uint64_t>(record, offset);
    m.device = makedev(load<uint32_t>(record, major), load<uint32_t>(record, minor));
    m.inode = load<uint64_t>(record, inode);
    const auto* text = reinterpret_cast<const char*>(record.data()) + path;
    if (record.size() > path) m.path.assign(text, ::strnlen(text, record.size() - path));
    if (m.path == "//anon") m.path.clear();
    return m;
}

std::optional<MapEvent> event_of(const std::vector<uint8_t>& record) {
    constexpr size_t first = 8, second = 12;
    const auto header = load<perf_event_header>(record, 0);
    MapEvent event;
    event.pid = load<uint32_t>(record, first);
    event.time = load<uint64_t>(record, record.size() - 8);
    switch (header.type) {
        case PERF_RECORD_MMAP2: event.mapping = mapping_of(record); return event;
        case PERF_RECORD_COMM:
            event.what = MapEvent::What::Exec;
            return header.misc & PERF_RECORD_MISC_COMM_EXEC ? std::optional(event) : std::nullopt;
        case PERF_RECORD_FORK:
        case PERF_RECORD_EXIT: {
            constexpr size_t thread = 16;
            event.parent = load<uint32_t>(record, second);
            const bool fork = header.type == PERF_RECORD_FORK;
            event.what = fork ? MapEvent::What::Fork : MapEvent::What::Exit;
            // Of threads, only the first one's: it has the number of the process.
            return load<uint32_t>(record, thread) == event.pid ? std::optional(event) : std::nullopt;
        }
        default: return std::nullopt;
    }
}

}  // namespace

void MapStream::open() {
    if (is_open()) return;
    perf_event_attr attr = wanted_events();
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    for (long cpu = 0, count = ::sysconf(_SC_NPROCESSORS_CONF); cpu < count; cpu++) {
        UniqueFd fd(static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
        if (!fd) continue;  // that processor is off
        auto memory = Mapping::create(fd.get(), 0, page + ring_bytes, PROT_READ | PROT_WRITE);
        if (memory) rings_.push_back({std::move(fd), std::move(*memory)});
    }
}

std::vector<MapEvent> MapStream::take() {
    std::vector<MapEvent> events;
    for (const Ring& ring : rings_) {
        auto* control = reinterpret_cast<perf_event_mmap_page*>(ring.memory.data());
        const uint8_t* data = ring.memory.data() + control->data_offset;
        const uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
        uint64_t tail = control->data_tail;
        const auto copy = [&](uint64_t at, void* to, size_t size) {
            const size_t from = at % ring_bytes, before_end = std::min(size, ring_bytes - from);
            std::memcpy(to, data + from, before_end);
            std::memcpy(static_cast<uint8_t*>(to) + before_end, data, size - before_end);
        };
        while (tail < head) {
            perf_event_header header;
            copy(tail, &header, sizeof header);
            if (header.size < sizeof header + 8) break;
            std::vector<uint8_t> record(header.size);
            copy(tail, record.data(), record.size());
            if (auto event = event_of(record)) events.push_back(std::move(*event));
            tail += header.size;
        }
        __atomic_store_n(&control->data_tail, head, __ATOMIC_RELEASE);
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const MapEvent& a, const MapEvent& b) { return a.time < b.time; });
    return events;
}

}  // namespace kpl
