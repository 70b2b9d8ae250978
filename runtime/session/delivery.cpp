// SPDX-License-Identifier: MIT
#include "session/delivery.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "output/printf.hpp"
#include "session/timers.hpp"

namespace kpl {

Delivery::Delivery(Rings rings, Parts parts)
    : rings_(std::move(rings)), parts_(std::move(parts)), batch_(std::make_unique<RecordBatch>()) {
    parts_.host.attach(*batch_);
}

void Delivery::deliver_print(const kpl_rec& record) {
    const uint32_t number = record.event - kpl_printf_event;
    batch_->delivered++;
    if (parts_.is_dead && parts_.is_dead(number)) return;
    const PrintfDecl& decl = parts_.unit.printfs[number];
    const auto values = parts_.decoder.record(decl.record, {reinterpret_cast<const uint8_t*>(&record), record.len});
    parts_.write(decl.is_print ? format_print(values) : format_printf(decl.format, values));
}

// A run of events: to the taker one by one, to Lua in one call.
Result<void> Delivery::deliver_events(uint32_t to) {
    const uint32_t from = std::exchange(at_, to);
    for (taken_ = std::max(taken_, from); parts_.taker && taken_ < at_; taken_++) {
        halted_ = !parts_.taker->take(*batch_->record[taken_], batch_->cpu[taken_]);
        if (halted_ || batch_->stop) at_ = taken_ + 1;
    }
    if (batch_->stop || !parts_.host.subscriptions()) {
        batch_->delivered += at_ - from;
        return {};
    }
    batch_->next = from;
    auto ok = parts_.host.consume(from, at_);
    batch_->delivered += batch_->next - from;
    if (!ok) at_ = batch_->next;
    return ok;
}

Result<void> Delivery::deliver_batch() {
    while (at_ < batch_->size && !batch_->stop && !halted_) {
        if (batch_->record[at_]->event >= kpl_printf_event) {
            deliver_print(*batch_->record[at_++]);
            continue;
        }
        uint32_t to = parts_.unit.printfs.empty() ? batch_->size : at_;
        while (to < batch_->size && batch_->record[to]->event < kpl_printf_event) to++;
        TRY(deliver_events(to));
    }
    return {};
}

Result<size_t> Delivery::deliver(uint64_t until) {
    size_t count = 0;
    halted_ = false;
    while (!batch_->stop && !halted_) {
        if (at_ == batch_->size) {
            at_ = taken_ = 0;
            if (!rings_.next(*batch_)) break;
        }
        auto ok = deliver_batch();
        const uint32_t delivered = std::exchange(batch_->delivered, 0);
        count += delivered;
        delivered_ += delivered;
        if (!ok) return ok.error();
        if (at_ == batch_->size) rings_.release();
        if (monotonic_ns() >= until) break;
    }
    return count;
}

Result<size_t> Delivery::drain(uint64_t limit_ns) {
    rings_.look(false);
    return deliver(monotonic_ns() + limit_ns);
}

Result<size_t> Delivery::drain_all() {
    rings_.look(true);
    return deliver(std::numeric_limits<uint64_t>::max());
}

uint64_t Delivery::newly_lost() {
    const uint64_t lost = rings_.counts().lost;
    return lost - std::exchange(told_lost_, lost);
}

}  // namespace kpl
