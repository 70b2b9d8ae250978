// SPDX-License-Identifier: MIT
// Delivery: records from the rings to where they go, in time order: events to the script's callbacks, printf to the
// output.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "device/rings.hpp"
#include "luahost/host.hpp"
#include "output/datum.hpp"

namespace kpl {

// A program's own consumer of events, called before the script's.
class RecordTaker {
  public:
    virtual ~RecordTaker() = default;
    // The record is valid until it returns. False: the drain ends behind it.
    virtual bool take(const kpl_rec& record, uint32_t cpu) = 0;
};

class Delivery {
  public:
    // What outlives it. `write` takes the text of the handlers' printf and print.
    struct Parts {
        LuaHost& host;
        const Unit& unit;
        const Decoder& decoder;
        std::function<void(std::string_view)> write;
        std::function<bool(uint32_t printf)> is_dead{};  // its text is not to be written; none: of none
        RecordTaker* taker = nullptr;
    };
    Delivery(Rings rings, Parts parts);

    // Delivers what is complete, and frees its room, for about `limit_ns` at most. Returns how many records. An error
    // is that of a callback; what comes after its record is still to be delivered.
    Result<size_t> drain(uint64_t limit_ns);
    // The end: no handler runs any more.
    Result<size_t> drain_all();
    // The last drain reached its limit, not the end of what was complete.
    bool unfinished() const { return !batch_->stop && (at_ < batch_->size || rings_.has_next()); }
    // No record after the one that is being delivered.
    void stop() { batch_->stop = 1; }

    Rings& rings() { return rings_; }
    const Rings& rings() const { return rings_; }
    uint64_t delivered() const { return delivered_; }
    // Lost since the last call.
    uint64_t newly_lost();

  private:
    Result<size_t> deliver(uint64_t until);
    Result<void> deliver_batch();
    Result<void> deliver_events(uint32_t to);
    void deliver_print(const kpl_rec& record);

    Rings rings_;
    Parts parts_;
    std::unique_ptr<RecordBatch> batch_;  // the Lua side keeps its address
    uint32_t at_ = 0;                     // in the batch: what is next
    uint32_t taken_ = 0;   // in the batch: what the taker gets next, ahead of the script after its errors
    bool halted_ = false;  // the taker wants the drain to end
    uint64_t delivered_ = 0;
    uint64_t told_lost_ = 0;
};

}  // namespace kpl
