// SPDX-License-Identifier: MIT
#include "session/overload.hpp"

#include <fmt/format.h>

namespace kpl {

Result<std::vector<Overload>> OverloadReporter::poll(const Device& device, std::span<const uint32_t> ids) {
    std::vector<Overload> found;
    const uint32_t count = TRY(device.info()).overloads;
    if (count == seen_ || ids.empty()) return found;
    std::vector<kpl_probe_stats> stats(ids.size());
    for (size_t i = 0; i < ids.size(); i++) stats[i].id = ids[i];
    TRY(device.stats(stats));
    for (size_t i = 0; i < ids.size(); i++) {
        if (stats[i].state != KPL_STATE_OVERLOAD)
            told_.erase(ids[i]);
        else if (told_.insert(ids[i]).second)
            found.push_back({i, stats[i].overload_cpu, stats[i].overload_percent, stats[i].entry.hits});
    }
    seen_ = count;
    return found;
}

std::string overload_text(const std::string& place, const Overload& overload, uint32_t share) {
    return fmt::format(
        "{}: disabled after {} hits: its handlers took {} % of CPU {}, --cpu-share allows {} % for all; "
        "do less at a hit, or allow more",
        place, overload.hits, overload.percent, overload.cpu, share);
}

}  // namespace kpl
