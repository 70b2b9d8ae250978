// SPDX-License-Identifier: MIT
#include "device/rings.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
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
    if (most > setup.size) rings.device_ = &device;
    rings.most_ = most;
    return rings;
}

Rings::Rings(std::vector<Memory> rings, uint32_t bytes_per_cpu)
    : size_(bytes_per_cpu), page_(static_cast<uint32_t>(::sysconf(_SC_PAGESIZE))) {
    for (Memory& memory : rings)
        rings_.push_back({std::move(memory), static_cast<uint32_t>(rings_.size()), bytes_per_cpu});
}

// Of a record that is being written: no older than the last complete one of its ring, nor than the last look that saw
// none being written.
uint64_t Rings::oldest_unfinished(Ring& ring) {
    ring.passed = std::max(ring.passed, ring.tail);
    for (; ring.passed < ring.limit; ring.passed += at(ring, ring.passed)->len)
        ring.since = at(ring, ring.passed)->time;
    return ring.since;
}

// A record begun before the first load is either complete in `limit` or shown by reserved_head.
void Rings::look(bool everything) {
    if (everything) {
        if (pending_) take_made();
        device_ = nullptr;
    }
    const uint64_t now = monotonic_ns() - stamp_lag;
    horizon_ = everything ? std::numeric_limits<uint64_t>::max() : now;
    take_over();
    heap_.clear();
    for (Ring& ring : rings_) {
        const uint64_t reserved = load_acquire(ring.head().reserved_head);
        ring.limit = load_acquire(ring.head().head);
        if (ring.tail < ring.limit)
            heap_.push_back({at(ring, ring.tail)->time, static_cast<uint32_t>(&ring - rings_.data())});
        if (const uint32_t cpu = ring.head().cpu; ring.cpu == KPL_NO_CPU && cpu != KPL_NO_CPU) note_taken(ring, cpu);
        if (reserved == ring.limit) {
            ring.passed = ring.limit;
            ring.since = now;
        } else if (!everything && rings_.size() > 1) {
            horizon_ = std::min(horizon_, oldest_unfinished(ring));
        }
    }
    std::make_heap(heap_.begin(), heap_.end());
    grow_crowded();
}

// Takes records of the oldest ring for as long as it is the oldest.
void Rings::take_run(RecordBatch& batch, uint64_t& bytes) {
    std::pop_heap(heap_.begin(), heap_.end());
    const uint32_t number = heap_.back().ring;
    heap_.pop_back();
    Ring& ring = rings_[number];
    const uint64_t until = heap_.empty() ? horizon_ : std::min(horizon_, heap_.front().time);
    const uint64_t from = ring.tail, stop = std::min(ring.limit, from + bytes);
    const kpl_rec* record = nullptr;
    uint64_t tail = from;
    uint32_t size = batch.size;
    for (; tail < stop && size < RecordBatch::room; tail += record->len) {
        record = at(ring, tail);
        if (record->time > until) break;
        batch.record[size] = record;
        batch.cpu[size++] = ring.cpu;
    }
    batch.size = size;
    ring.tail = tail;
    bytes -= std::min(bytes, tail - from);
    if (tail == ring.limit) return;
    heap_.push_back({at(ring, tail)->time, number});
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

Result<void> Rings::make_spare(const Device& device, Made& made, uint32_t bytes) {
    const kpl_ring_spare spare = TRY(device.spare_ring(bytes));
    Memory memory = TRY(mapped(device, spare.ctl_off, spare.data_off, bytes));
    {
        const std::lock_guard held(made.lock);
        made.rings.push_back({std::move(memory), KPL_NO_CPU, bytes});
    }
    auto offered = device.offer_ring(spare.nr);
    if (!offered) made.refused = true;
    return offered;
}

void Rings::ask(uint32_t bytes) {
    // Signals are for the thread that delivers.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        pending_ = std::async(std::launch::async,
                              [device = device_, made = made_, bytes] { return make_spare(*device, *made, bytes); });
    } catch (const std::system_error& error) {
        std::promise<Result<void>> failed;
        failed.set_value(Error{Errc::system, error.what()});
        pending_ = failed.get_future();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Rings::make_ahead(uint64_t room) {
    const uint64_t bytes = std::min<uint64_t>(most_ / 2, std::bit_floor(room / 8));
    if (std::exchange(made_ahead_, true) || !device_ || bytes <= size_) return;
    ask(static_cast<uint32_t>(bytes));
}

void Rings::await_spare(uint32_t ms) const {
    if (pending_) pending_->wait_for(std::chrono::milliseconds(ms));
}

void Rings::take_over() {
    const std::lock_guard held(made_->lock);
    for (Ring& ring : made_->rings) rings_.push_back(std::move(ring));
    made_->rings.clear();
}

// The kernel keeps the earlier rings until the session's end, and so do we: nothing that is under way in one is
// awaited.
void Rings::note_taken(Ring& taken, uint32_t cpu) {
    for (Ring& ring : rings_) ring.last &= ring.cpu != cpu;
    taken.cpu = cpu;
    grown_.push_back({cpu, taken.size, {}});
}

// That one can't be had ahead of need is no reason not to ask for it when it is needed.
void Rings::take_made() {
    const auto made = pending_->get();
    pending_.reset();
    take_over();
    if (made || !needs_) return;
    grown_.push_back({*needs_, 0, made.error().text});
    device_ = nullptr;  // those that there are go on
}

// Where a ring is filled to three eighths and no larger one is there to be taken, another is made.
void Rings::grow_crowded() {
    if (pending_ && pending_->wait_for(std::chrono::seconds(0)) == std::future_status::ready) take_made();
    if (!device_ || pending_) return;
    std::optional<uint32_t> crowded;
    for (const Ring& ring : rings_) {
        if (ring.cpu == KPL_NO_CPU && !made_->refused) return;
        if (ring.last && ring.cpu != KPL_NO_CPU && ring.size < most_ &&
            load_acquire(ring.head().head) - ring.tail > ring.size / 8 * 3)
            crowded = ring.cpu;
    }
    if (!crowded) return;
    needs_ = crowded;
    ask(most_);
}

std::vector<Rings::Growth> Rings::grown() { return std::exchange(grown_, {}); }

uint32_t Rings::largest() const {
    uint32_t bytes = size_;
    for (const Ring& ring : rings_)
        if (ring.cpu != KPL_NO_CPU) bytes = std::max(bytes, ring.size);
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
    const auto add = [&](const std::vector<Ring>& rings) {
        for (const Ring& ring : rings) {
            counts.sent += load_acquire(ring.head().sent);
            counts.lost += load_acquire(ring.head().lost);
        }
    };
    const std::lock_guard held(made_->lock);
    add(rings_);
    add(made_->rings);
    return counts;
}

}  // namespace kpl
