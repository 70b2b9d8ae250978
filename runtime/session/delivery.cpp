// SPDX-License-Identifier: MIT
#include "session/delivery.hpp"

#include <limits>

#include "output/printf.hpp"
#include "session/loop.hpp"

namespace kpl {

Delivery::Delivery(Rings rings, Parts parts)
    : rings_(std::move(rings)), parts_(std::move(parts)), batch_(std::make_unique<RecordBatch>()) {
    parts_.host.attach(*batch_);
}

void Delivery::deliver_print(const kpl_rec& record) {
    const PrintfDecl& decl = parts_.unit.printfs[record.event - kpl_printf_event];
    const auto values = parts_.decoder.record(decl.record, {reinterpret_cast<const uint8_t*>(&record), record.len});
    batch_->delivered++;
    parts_.write(decl.is_print ? format_print(values) : format_printf(decl.format, values));
}

// Runs of events go to Lua in one call each.
Result<void> Delivery::deliver_batch() {
    for (uint32_t at = 0; at < batch_->size && !batch_->stop;) {
        if (batch_->record[at]->event >= kpl_printf_event) {
            deliver_print(*batch_->record[at++]);
            continue;
        }
        const uint32_t from = at;
        while (at < batch_->size && batch_->record[at]->event < kpl_printf_event) at++;
        TRY(parts_.host.consume(from, at));
    }
    return {};
}

Result<size_t> Delivery::deliver(uint64_t until) {
    size_t count = 0;
    while (!batch_->stop && rings_.next(*batch_)) {
        auto ok = deliver_batch();
        count += batch_->delivered;
        delivered_ += batch_->delivered;
        rings_.release();
        if (!ok) {
            stop();
            return ok.error();
        }
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

}  // namespace kpl
