// SPDX-License-Identifier: MIT
#include "device/rings.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <system_error>
#include <utility>

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

Result<Rings::Memory> mapped(const Device& device, uint64_t ctl_off, uint64_t data_off, uint32_t bytes) {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    Rings::Memory ring;
    ring.control = TRY(device.map(ctl_off, page, PROT_READ | PROT_WRITE));
    ring.data = TRY(device.map(data_off, page + size_t{2} * bytes, PROT_READ));
    return ring;
}

}  // namespace

Result<Rings> Rings::create(const Device& device, uint32_t bytes_per_cpu, uint32_t most) {
    const kpl_ring_setup setup = TRY(device.setup_rings(bytes_per_cpu));
    std::vector<Memory> memory;
    for (uint64_t cpu = 0; cpu < setup.nr_cpus; cpu++)
        memory.push_back(TRY(mapped(device, setup.ctl_off + cpu * setup.ctl_stride,
                                    setup.data_off + cpu * setup.data_stride, setup.size)));
    Rings rings(std::move(memory), setup.size);
    rings.device_ = &device;
    rings.most_ = most;
    return rings;
}

Rings::Rings(std::vector<Memory> rings, uint32_t bytes_per_cpu)
    : size_(bytes_per_cpu), page_(static_cast<uint32_t>(::sysconf(_SC_PAGESIZE))) {
    for (Memory& memory : rings)
        rings_.push_back({std::move(memory), static_cast<uint32_t>(rings_.size()), bytes_per_cpu});
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
    if (everything) {
        device_ = nullptr;
        pending_.reset();
    }
    grow_crowded();
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
    const uint32_t number = heap_.back().ring;
    heap_.pop_back();
    Ring& ring = rings_[number];
    const uint64_t until = heap_.empty() ? horizon_ : std::min(horizon_, heap_.front().time);
    const kpl_rec* record = nullptr;
    while (ring.tail < ring.limit) {
        record = at(ring, ring.tail);
        if (record->time > until || batch.size == RecordBatch::room || bytes == 0) break;
        batch.record[batch.size] = record;
        batch.cpu[batch.size++] = ring.cpu;
        ring.tail += record->len;
        bytes -= std::min<uint64_t>(bytes, record->len);
    }
    if (ring.tail == ring.limit) return;
    heap_.push_back({record->time, number});
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
    grow_crowded();
}

void Rings::ask(uint32_t cpu, uint32_t bytes) {
    const auto make = [device = device_, cpu, bytes]() -> Result<Made> {
        const kpl_ring_grow made = TRY(device->grow_ring(cpu, bytes));
        return Made{made.nr, TRY(mapped(*device, made.ctl_off, made.data_off, bytes))};
    };
    // Signals are for the thread that delivers.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        pending_ = Pending{cpu, bytes, std::async(std::launch::async, make)};
    } catch (const std::system_error& error) {
        grown_.push_back({cpu, 0, error.what()});
        device_ = nullptr;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// The kernel keeps the earlier rings until the session's end, and so do we: nothing that is under way in one is
// awaited.
void Rings::adopt() {
    const uint32_t cpu = pending_->cpu, bytes = pending_->bytes;
    auto made = pending_->ring.get();
    pending_.reset();
    const Result<void> switched = made ? device_->switch_ring(made->number) : made.error();
    if (!switched) {
        grown_.push_back({cpu, 0, switched.error().text});
        device_ = nullptr;  // those that there are go on
        return;
    }
    for (Ring& ring : rings_) ring.last &= ring.cpu != cpu;
    rings_.push_back({std::move(made->memory), cpu, bytes});
    grown_.push_back({cpu, bytes, {}});
}

void Rings::grow_crowded() {
    if (pending_ && pending_->ring.wait_for(std::chrono::seconds(0)) == std::future_status::ready) adopt();
    for (const Ring& ring : rings_) {
        if (!device_ || pending_) return;
        if (ring.last && ring.size < most_ && load_acquire(ring.head().head) - ring.tail > ring.size / 8 * 3)
            ask(ring.cpu, ring.size * 2);
    }
}

std::vector<Rings::Growth> Rings::grown() { return std::exchange(grown_, {}); }

uint32_t Rings::largest() const {
    uint32_t bytes = size_;
    for (const Ring& ring : rings_) bytes = std::max(bytes, ring.size);
    return bytes;
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
