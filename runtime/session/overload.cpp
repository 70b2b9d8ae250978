// SPDX-License-Identifier: MIT
#include "session/overload.hpp"

#include <fmt/format.h>

#include <utility>

namespace kpl {

Result<std::vector<Overload>> OverloadReporter::poll(const Device& device, std::span<const uint32_t> ids) {
    const uint32_t count = TRY(device.info()).overloads;
    if (count == seen_ || ids.empty()) return std::vector<Overload>();
    TRY(device.each_stats(ids, [&](size_t i, const kpl_probe_stats& one) {
        if (one.state != KPL_STATE_OVERLOAD)
            told_.erase(one.id);
        else if (told_.insert(one.id).second)
            found_.push_back({i, one.overload_cpu, one.overload_percent, one.entry.hits});
    }));
    seen_ = count;
    return std::exchange(found_, {});
}

std::string overload_text(const std::string& place, const Overload& overload, uint32_t share) {
    return fmt::format(
        "{}: disabled after {} hits: its handlers took {} % of CPU {}, --cpu-share allows {} % for all; "
        "do less at a hit, or allow more",
        place, overload.hits, overload.percent, overload.cpu, share);
}

}  // namespace kpl
