// SPDX-License-Identifier: MIT
#include "session/delivery.hpp"

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

// Runs of events go to Lua in one call each.
Result<void> Delivery::deliver_batch() {
    while (at_ < batch_->size && !batch_->stop) {
        if (batch_->record[at_]->event >= kpl_printf_event) {
            deliver_print(*batch_->record[at_++]);
            continue;
        }
        const uint32_t from = at_;
        uint32_t to = from;
        while (to < batch_->size && batch_->record[to]->event < kpl_printf_event) to++;
        auto ok = parts_.host.consume(from, to);
        at_ = ok ? to : batch_->next;
        if (!ok) return ok;
    }
    return {};
}

Result<size_t> Delivery::deliver(uint64_t until) {
    size_t count = 0;
    while (!batch_->stop) {
        if (at_ == batch_->size) {
            at_ = 0;
            if (!rings_.next(*batch_)) break;
        }
        auto ok = deliver_batch();
        const uint32_t delivered = std::exchange(batch_->delivered, 0);
        count += delivered;
        delivered_ += delivered;
        if (!ok) return ok.error();
        rings_.release();
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
