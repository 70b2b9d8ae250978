// SPDX-License-Identifier: MIT
#include "device/rings.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

namespace kpl {
namespace {

// What a time stamp of the kernel may lag behind ours: it is taken a moment before its record becomes visible.
constexpr uint64_t stamp_lag = 1000;

uint64_t monotonic_ns() {
    timespec ts{};
    ::clock_gettime(CLOCK_MONOTONIC, &ts);
    return static_cast<uint64_t>(ts.tv_sec) * 1000000000u + static_cast<uint64_t>(ts.tv_nsec);
}

uint64_t load_acquire(const __u64& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

}  // namespace

Result<Rings> Rings::create(const Device& device, uint32_t bytes_per_cpu) {
    const kpl_ring_setup setup = TRY(device.setup_rings(bytes_per_cpu));
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    std::vector<Memory> rings;
    for (uint64_t cpu = 0; cpu < setup.nr_cpus; cpu++) {
        Memory ring;
        ring.control = TRY(device.map(setup.ctl_off + cpu * setup.ctl_stride, page, PROT_READ | PROT_WRITE));
        ring.data = TRY(device.map(setup.data_off + cpu * setup.data_stride, page + size_t{2} * setup.size, PROT_READ));
        rings.push_back(std::move(ring));
    }
    return Rings(std::move(rings), setup.size);
}

Rings::Rings(std::vector<Memory> rings, uint32_t bytes_per_cpu)
    : size_(bytes_per_cpu), page_(static_cast<uint32_t>(::sysconf(_SC_PAGESIZE))) {
    for (Memory& memory : rings) rings_.push_back({std::move(memory)});
}

// Of the records that are complete; 0: there are none.
uint64_t Rings::last_time(const Ring& ring) const {
    uint64_t time = 0;
    for (uint64_t position = ring.tail; position < ring.limit; position += at(ring, position)->len)
        time = at(ring, position)->time;
    return time;
}

// A record begun before the first load is either complete in `limit` or shown by reserved_head.
void Rings::look(bool everything) {
    horizon_ = everything ? std::numeric_limits<uint64_t>::max() : monotonic_ns() - stamp_lag;
    heap_.clear();
    for (Ring& ring : rings_) {
        const uint64_t reserved = load_acquire(ring.head().reserved_head);
        ring.limit = load_acquire(ring.head().head);
        if (ring.tail < ring.limit)
            heap_.push_back({at(ring, ring.tail)->time, static_cast<uint32_t>(&ring - rings_.data())});
        // The record that is being written is no older than the last one of its ring.
        if (!everything && rings_.size() > 1 && reserved > ring.limit) horizon_ = std::min(horizon_, last_time(ring));
    }
    std::make_heap(heap_.begin(), heap_.end());
}

// Takes records of the oldest ring for as long as it is the oldest.
void Rings::take_run(RecordBatch& batch, uint64_t& bytes) {
    std::pop_heap(heap_.begin(), heap_.end());
    const uint32_t cpu = heap_.back().ring;
    heap_.pop_back();
    Ring& ring = rings_[cpu];
    const uint64_t until = heap_.empty() ? horizon_ : std::min(horizon_, heap_.front().time);
    const kpl_rec* record = nullptr;
    while (ring.tail < ring.limit) {
        record = at(ring, ring.tail);
        if (record->time > until || batch.size == RecordBatch::room || bytes == 0) break;
        batch.record[batch.size] = record;
        batch.cpu[batch.size++] = cpu;
        ring.tail += record->len;
        bytes -= std::min<uint64_t>(bytes, record->len);
    }
    if (ring.tail == ring.limit) return;
    heap_.push_back({record->time, cpu});
    std::push_heap(heap_.begin(), heap_.end());
}

bool Rings::next(RecordBatch& batch) {
    batch.size = batch.delivered = 0;
    // Room is freed once for each batch: handlers must not wait for all of a ring.
    uint64_t bytes = size_ / 4;
    while (has_next() && batch.size < RecordBatch::room && bytes) take_run(batch, bytes);
    return batch.size != 0;
}

void Rings::release() {
    for (Ring& ring : rings_)
        if (ring.tail && ring.control().tail != ring.tail)
            __atomic_store_n(&ring.control().tail, ring.tail, __ATOMIC_RELEASE);
}

void Rings::arm(uint64_t fill) {
    for (Ring& ring : rings_) {
        // While its CPU has never been up, the control page is not there.
        if (load_acquire(ring.head().size) == 0) continue;
        const uint64_t position = ring.tail + (fill ? fill : 1);
        if (ring.control().wake_at != position) __atomic_store_n(&ring.control().wake_at, position, __ATOMIC_RELEASE);
    }
}

RingCounts Rings::counts() const {
    RingCounts counts{lost_without_, lost_without_};
    for (const Ring& ring : rings_) {
        counts.sent += load_acquire(ring.head().sent);
        counts.lost += load_acquire(ring.head().lost);
    }
    return counts;
}

}  // namespace kpl
