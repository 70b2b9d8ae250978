// SPDX-License-Identifier: MIT
#include "core/agg.h"
#include "simulator/sim_helpers.hpp"

namespace kpl {

uint32_t agg_words(const SimMap& map) { return kpl_agg_words(&kpl_agg_descs[map.kind], map.lo, map.hi, map.step); }

void agg_update(const SimMap& map, std::span<uint64_t> value, int64_t n) {
    const kpl_agg_desc& agg = kpl_agg_descs[map.kind];
    switch (kpl_agg_update_of(&agg)) {
        case KPL_UPDATE_ADD: value[0] += static_cast<uint64_t>(n); return;
        case KPL_UPDATE_POWERS: value[kpl_hist_slot(n)]++; return;
        case KPL_UPDATE_STEPS: value[kpl_lhist_slot(map.lo, map.step, static_cast<u32>(value.size()), n)]++; return;
        case KPL_UPDATE_WORDS: kpl_agg_words_add(agg.holds, value.data(), n); return;
    }
}

}  // namespace kpl
