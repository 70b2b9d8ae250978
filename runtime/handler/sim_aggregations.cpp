// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "handler/sim_helpers.hpp"

namespace kpl {
namespace {

constexpr uint32_t hist_slots = 66;  // negative, 0, and one for each power of two

// 0: negative; 1: zero; then [2^(i-2), 2^(i-1)).
size_t hist_slot(int64_t n) {
    if (n < 0) return 0;
    return n == 0 ? 1 : 1 + static_cast<size_t>(std::bit_width(static_cast<uint64_t>(n)));
}

// 0: below; then the steps; last: above.
size_t lhist_slot(const SimMap& map, int64_t n) {
    if (n < map.lo) return 0;
    if (n >= map.hi) return agg_words(map) - 1;
    return 1 + static_cast<size_t>((static_cast<uint64_t>(n) - static_cast<uint64_t>(map.lo)) /
                                   static_cast<uint64_t>(map.step));
}

void keep(uint64_t& word, bool first, int64_t n, bool larger) {
    auto old = static_cast<int64_t>(word);
    if (first || (larger ? n > old : n < old)) word = static_cast<uint64_t>(n);
}

}  // namespace

uint32_t agg_words(const SimMap& map) {
    switch (map.kind) {
        case KPL_MAP_COUNT:
        case KPL_MAP_SUM:
            return 1;
        case KPL_MAP_AVG:
        case KPL_MAP_MIN:
        case KPL_MAP_MAX:
            return 2;
        case KPL_MAP_STATS:
            return 4;
        case KPL_MAP_HIST:
            return hist_slots;
        case KPL_MAP_LHIST:
            return 2 + static_cast<uint32_t>((static_cast<uint64_t>(map.hi) - static_cast<uint64_t>(map.lo)) /
                                             static_cast<uint64_t>(map.step));
        default:
            return map.value_size / 8;
    }
}

void agg_update(const SimMap& map, std::span<uint64_t> value, int64_t n) {
    bool first = value[0] == 0;
    auto amount = static_cast<uint64_t>(n);
    switch (map.kind) {
        case KPL_MAP_COUNT:
        case KPL_MAP_SUM:
            value[0] += amount;
            return;
        case KPL_MAP_AVG:
            value[0]++;
            value[1] += amount;
            return;
        case KPL_MAP_MIN:
        case KPL_MAP_MAX:
            keep(value[1], first, n, map.kind == KPL_MAP_MAX);
            value[0]++;
            return;
        case KPL_MAP_STATS:
            keep(value[2], first, n, false);
            keep(value[3], first, n, true);
            value[0]++;
            value[1] += amount;
            return;
        case KPL_MAP_HIST:
            value[hist_slot(n)]++;
            return;
        case KPL_MAP_LHIST:
            value[lhist_slot(map, n)]++;
            return;
    }
}

}  // namespace kpl
