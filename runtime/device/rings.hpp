// SPDX-License-Identifier: MIT
// Rings: the consumer's side of the per-CPU rings, as one stream in time order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/mapping.hpp"
#include "base/result.hpp"
#include "device/device.hpp"

namespace kpl {

// A record as it lies in the ring; valid until the function it was given to returns.
struct RecordView {
    const kpl_rec* rec;
    const uint8_t* fixed;  // the fixed part, after the header
    uint32_t cpu;
};

struct RingCounts {
    uint64_t sent = 0;  // records that handlers attempted
    uint64_t lost = 0;  // refused because a ring was full
    uint64_t delivered = 0;
};

class Rings {
  public:
    static Result<Rings> create(const Device& device, uint32_t bytes_per_cpu);

    // Delivers what is complete, oldest first across CPUs, and frees its room. A record still being written holds
    // back younger ones. With `everything`, nothing is held back (no handler runs any more). Returns how many.
    // `fn` returns false to stop early; the record it was given counts as delivered.
    size_t drain(const std::function<bool(const RecordView&)>& fn, bool everything = false);

    // Asks to be woken at the next record (`fill` 0), or when a ring holds `fill` bytes.
    void arm(uint32_t fill);

    // The last drain left complete records, because an older one was still being written.
    bool holding_back() const;

    RingCounts counts() const;

  private:
    struct Ring {
        Mapping ctl, data;
        uint64_t tail = 0;
        uint64_t limit = 0;  // head as seen at the start of a drain
        const kpl_ring_head& head() const { return *reinterpret_cast<const kpl_ring_head*>(data.data()); }
        kpl_ring_ctl& control() const { return *reinterpret_cast<kpl_ring_ctl*>(ctl.data()); }
    };
    const kpl_rec* peek(const Ring& ring) const;
    uint64_t look();
    void release(Ring& ring);

    std::vector<Ring> rings_;
    uint32_t size_ = 0;
    uint32_t page_ = 4096;
    uint64_t delivered_ = 0;
};

}  // namespace kpl
