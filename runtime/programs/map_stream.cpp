// SPDX-License-Identifier: MIT
#include "programs/map_stream.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>

namespace kpl {
namespace {

constexpr size_t ring_bytes = 128 << 10;  // of each processor; it is looked into once a second at least
constexpr const char* online_cpus = "/sys/devices/system/cpu/online";

// How long the machine has slept.
std::chrono::nanoseconds slept() {
    timespec all{}, awake{};
    ::clock_gettime(CLOCK_MONOTONIC, &awake);
    ::clock_gettime(CLOCK_BOOTTIME, &all);
    return std::chrono::seconds(all.tv_sec - awake.tv_sec) + std::chrono::nanoseconds(all.tv_nsec - awake.tv_nsec);
}
constexpr std::chrono::milliseconds a_while{200};  // between two looks at the clocks, at most

// "0-3,6"
std::vector<long> cpus_in(const std::string& list) {
    std::vector<long> cpus;
    std::istringstream ranges(list);
    for (std::string range; std::getline(ranges, range, ',');) {
        long first = 0, last = 0;
        const int n = std::sscanf(range.c_str(), "%ld-%ld", &first, &last);
        for (long cpu = first; n > 0 && cpu <= (n == 2 ? last : first); cpu++) cpus.push_back(cpu);
    }
    return cpus;
}

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

bool MapStream::add_ring(long cpu) {
    perf_event_attr attr = wanted_events();
    UniqueFd fd(
        static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, static_cast<int>(cpu), -1, PERF_FLAG_FD_CLOEXEC)));
    if (!fd) return false;
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    auto memory = Mapping::create(fd.get(), 0, page + ring_bytes, PROT_READ | PROT_WRITE);
    if (memory) rings_.push_back({cpu, std::move(fd), std::move(*memory)});
    return bool(memory);
}

void MapStream::open() {
    if (open_) return;
    slept_ = slept();
    online_ = read_file(online_cpus, 4096);
    int error = 0;
    for (const long cpu : cpus_in(online_))
        if (!add_ring(cpu)) error = errno;
    open_ = !rings_.empty() || (error != EACCES && error != EPERM && error != ENOSYS);
    if (error) online_ = "";  // another time
}

void MapStream::drain(const Ring& ring, std::vector<MapEvent>& events) {
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
        constexpr size_t how_many = 16;
        if (header.type == PERF_RECORD_LOST) lost_ += load<uint64_t>(record, how_many);
        if (auto event = event_of(record)) events.push_back(std::move(*event));
        tail += header.size;
    }
    __atomic_store_n(&control->data_tail, head, __ATOMIC_RELEASE);
}

// The kernel takes the event off a CPU that goes, and does not bring it back.
void MapStream::follow_cpus() {
    const auto time = Clock::now();
    if (time < look_again_) return;
    look_again_ = time + std::chrono::seconds(1);
    std::string online = read_file(online_cpus, 4096);
    if (std::exchange(slept_, slept()) + a_while < slept_) {  // all but one were gone, and are back
        rings_.clear();
        online_ = "";
    }
    if (online.empty() || online == online_) return;
    const std::vector<long> now = cpus_in(online);
    std::erase_if(rings_, [&](const Ring& ring) { return std::find(now.begin(), now.end(), ring.cpu) == now.end(); });
    bool all = true;
    for (const long cpu : now) {
        if (std::any_of(rings_.begin(), rings_.end(), [&](const Ring& ring) { return ring.cpu == cpu; })) continue;
        if (add_ring(cpu))
            lost_++;
        else
            all = false;
    }
    online_ = all ? std::move(online) : "";  // or another time
}

std::vector<MapEvent> MapStream::take() {
    std::vector<MapEvent> events;
    if (!open_) return events;
    for (const Ring& ring : rings_) drain(ring, events);
    follow_cpus();
    std::stable_sort(events.begin(), events.end(),
                     [](const MapEvent& a, const MapEvent& b) { return a.time < b.time; });
    return events;
}

}  // namespace kpl
