// SPDX-License-Identifier: MIT
#include "device/rings.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

namespace kpl {
namespace {

uint64_t monotonic_ns() {
    timespec ts{};
    ::clock_gettime(CLOCK_MONOTONIC, &ts);
    return static_cast<uint64_t>(ts.tv_sec) * 1000000000u + static_cast<uint64_t>(ts.tv_nsec);
}

uint64_t load_acquire(const __u64& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

}  // namespace

Result<Rings> Rings::create(const Device& device, uint32_t bytes_per_cpu) {
    const kpl_ring_setup setup = TRY(device.setup_rings(bytes_per_cpu));
    Rings rings;
    rings.size_ = setup.size;
    rings.page_ = static_cast<uint32_t>(::sysconf(_SC_PAGESIZE));
    for (uint64_t cpu = 0; cpu < setup.nr_cpus; cpu++) {
        Ring ring;
        ring.ctl = TRY(device.map(setup.ctl_off + cpu * setup.ctl_stride, rings.page_, PROT_READ | PROT_WRITE));
        ring.data = TRY(device.map(setup.data_off + cpu * setup.data_stride,
                                   rings.page_ + size_t{2} * setup.size, PROT_READ));
        rings.rings_.push_back(std::move(ring));
    }
    return rings;
}

const kpl_rec* Rings::peek(const Ring& ring) const {
    if (ring.tail >= ring.limit) return nullptr;
    return reinterpret_cast<const kpl_rec*>(ring.data.data() + page_ + (ring.tail & (size_ - 1)));
}

// Notes where each ring stands, and returns the time below which no further record can appear: a record begun
// before the first look is either complete in `limit` or shown by reserved_head.
uint64_t Rings::look() {
    uint64_t horizon = monotonic_ns();
    bool writing = false;
    for (Ring& ring : rings_) {
        const uint64_t reserved = load_acquire(ring.head().reserved_head);
        ring.limit = load_acquire(ring.head().head);
        writing |= reserved > ring.limit;
    }
    if (!writing) return horizon;
    // The record that is being written started no earlier than the last one of its ring.
    for (Ring& ring : rings_) {
        if (load_acquire(ring.head().reserved_head) <= ring.limit) continue;
        uint64_t last = 0;
        for (uint64_t at = ring.tail; at < ring.limit;) {
            auto* rec = reinterpret_cast<const kpl_rec*>(ring.data.data() + page_ + (at & (size_ - 1)));
            last = rec->time;
            at += rec->len;
        }
        horizon = std::min(horizon, last);
    }
    return horizon;
}

void Rings::release(Ring& ring) { __atomic_store_n(&ring.control().tail, ring.tail, __ATOMIC_RELEASE); }

size_t Rings::drain(const std::function<bool(const RecordView&)>& fn, bool everything) {
    const uint64_t now_horizon = look();
    const uint64_t horizon = everything ? std::numeric_limits<uint64_t>::max() : now_horizon;
    size_t delivered = 0;
    for (bool more = true; more;) {
        Ring* oldest = nullptr;
        uint64_t time = horizon;
        for (Ring& ring : rings_) {
            const kpl_rec* rec = peek(ring);
            if (rec && rec->time <= time) {
                if (oldest && rec->time == time) continue;
                oldest = &ring;
                time = rec->time;
            }
        }
        if (!oldest) break;
        const kpl_rec* rec = peek(*oldest);
        const uint32_t len = rec->len;
        delivered++;
        delivered_++;
        more = fn({rec, reinterpret_cast<const uint8_t*>(rec + 1), static_cast<uint32_t>(oldest - rings_.data())});
        oldest->tail += len;
        release(*oldest);
    }
    return delivered;
}

void Rings::arm(uint32_t fill) {
    for (Ring& ring : rings_) {
        const uint64_t at = ring.tail + (fill ? fill : 1);
        __atomic_store_n(&ring.control().wake_at, at, __ATOMIC_RELEASE);
    }
}

bool Rings::holding_back() const {
    return std::any_of(rings_.begin(), rings_.end(), [](const Ring& ring) { return ring.tail < ring.limit; });
}

RingCounts Rings::counts() const {
    RingCounts counts;
    counts.delivered = delivered_;
    for (const Ring& ring : rings_) {
        counts.sent += load_acquire(ring.head().sent);
        counts.lost += load_acquire(ring.head().lost);
    }
    return counts;
}

}  // namespace kpl
