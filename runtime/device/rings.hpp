// SPDX-License-Identifier: MIT
// Rings: the consumer's side of the per-CPU rings, as one stream in time order.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/mapping.hpp"
#include "base/result.hpp"
#include "device/device.hpp"

namespace kpl {

struct RingCounts {
    uint64_t sent = 0;  // records that handlers attempted
    uint64_t lost = 0;  // refused because a ring was full
};

// Records of all rings, oldest first, as they lie in the rings: valid until Rings::release. lua/events.lua reads this
// structure, too.
struct RecordBatch {
    static constexpr uint32_t room = 512;
    uint32_t size = 0;
    uint32_t delivered = 0;  // of them, so far: counted by whoever hands them on
    uint32_t stop = 0;       // not 0: no more of them are wanted
    uint32_t next = 0;       // behind the one that is being handed on to Lua: where to go on after an error
    uint32_t event = 0;      // that of the records that Lua is handing on
    const kpl_rec* record[room];
    uint32_t cpu[room];
};

class Rings {
  public:
    // The two mappings of a CPU's ring (kpl_ring_setup).
    struct Memory {
        Mapping control, data;
    };

    // Of a CPU whose handlers sent faster than records were taken.
    struct Growth {
        uint32_t cpu;
        uint32_t bytes;     // of its ring now; 0: it can't be had
        std::string error;  // why not
    };

    // A CPU whose ring is full goes on in a larger one, of up to `most` bytes, if there is one at that moment. One is
    // made ahead, by a thread: meanwhile records are taken on. The device outlives them.
    static Result<Rings> create(const Device& device, uint32_t bytes_per_cpu, uint32_t most);
    Rings(std::vector<Memory> rings, uint32_t bytes_per_cpu);

    // Makes the first larger ring, of an eighth of `room` bytes at most; once.
    void make_ahead(uint64_t room);
    // Until the one that is being made is there, for `ms` at most.
    void await_spare(uint32_t ms) const;

    // Notes what is complete. A record that is still being written holds back younger ones; with `everything`, nothing
    // is held back (no handler runs any more).
    void look(bool everything);
    // The next records of what look() saw, at most a quarter of a ring's bytes. False: there are none.
    bool next(RecordBatch& batch);
    bool has_next() const { return !heap_.empty() && heap_.front().time <= horizon_; }
    // Frees the room of all that next() gave.
    void release();

    // Asks to be woken at the next record (`fill` 0), or when a ring holds `fill` bytes; and at the first one of a CPU
    // that comes up.
    void arm(uint64_t fill);

    // What grew since the last call.
    std::vector<Growth> grown();
    uint32_t largest() const;  // bytes of a ring

    // What was lost in all where no ring counts it (kpl_info).
    void set_lost_without(uint64_t records) { lost_without_ = records; }
    RingCounts counts() const;

  private:
    struct Ring {
        Memory memory;
        uint32_t cpu = 0, size = 0;
        bool last = true;     // of its CPU's: the one that handlers write; or a spare
        uint64_t tail = 0;    // given by next() up to here
        uint64_t limit = 0;   // complete up to here, as look() saw it
        uint64_t passed = 0;  // no record above this position is older than `since`
        uint64_t since = 0;
        const kpl_ring_head& head() const { return *reinterpret_cast<const kpl_ring_head*>(memory.data.data()); }
        kpl_ring_ctl& control() const { return *reinterpret_cast<kpl_ring_ctl*>(memory.control.data()); }
    };
    // A ring with records, by the time of its oldest. Of one CPU's, the earlier is the older.
    struct Oldest {
        uint64_t time;
        uint32_t ring;
        bool operator<(const Oldest& other) const { return time != other.time ? time > other.time : ring > other.ring; }
    };
    const kpl_rec* at(const Ring& ring, uint64_t position) const {
        return reinterpret_cast<const kpl_rec*>(ring.memory.data.data() + page_ + (position & (ring.size - 1)));
    }
    // Rings that the thread has made. One stands here before it is offered to handlers: what look() does not find here
    // has only records that are younger than this look.
    struct Made {
        std::mutex lock;
        std::vector<Ring> rings;
        std::atomic<bool> refused = false;  // the last one can't be offered: it stays empty
    };
    static Result<void> make_spare(const Device& device, Made& made, uint32_t bytes);
    void ask(uint32_t bytes);
    void take_over();
    void take_made();
    void note_taken(Ring& ring, uint32_t cpu);
    void grow_crowded();
    void take_run(RecordBatch& batch, uint64_t& bytes);
    uint64_t oldest_unfinished(Ring& ring);

    std::vector<Ring> rings_;
    std::vector<Oldest> heap_;  // the oldest ring first
    uint64_t horizon_ = 0;      // no record can still appear below this time
    uint64_t lost_without_ = 0;
    uint32_t size_ = 0;  // of the first of each CPU
    uint32_t page_ = 4096;
    const Device* device_ = nullptr;  // null: they don't grow
    uint32_t most_ = 0;
    std::vector<Growth> grown_;
    std::shared_ptr<Made> made_ = std::make_shared<Made>();
    std::optional<std::future<Result<void>>> pending_;  // waits for the thread when it goes
    bool made_ahead_ = false;
    std::optional<uint32_t> needs_;  // the CPU that another is made for; none: ahead of need
};

}  // namespace kpl
