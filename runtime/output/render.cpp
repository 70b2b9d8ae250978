// SPDX-License-Identifier: MIT
#include "output/render.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kpl {
namespace {

constexpr size_t bar_width = 52;

int64_t average(const AggValue& v) { return v.n ? v.sum / static_cast<int64_t>(v.n) : 0; }

bool is_histogram(const MapDecl& map) { return map.kind == KPL_MAP_HIST || map.kind == KPL_MAP_LHIST; }

// 1024 → 1K, as bpftrace labels the buckets of hist().
std::string power_label(int exponent) {
    static constexpr std::string_view suffix[] = {"", "K", "M", "G", "T", "P", "E"};
    return fmt::format("{}{}", uint64_t{1} << (exponent % 10), suffix[exponent / 10]);
}

// Slots of HIST: negative, 0, then [2^(i-2), 2^(i-1)).
std::string hist_label(size_t slot) {
    if (slot == 0) return "(..., 0)";
    if (slot == 1) return "[0]";
    if (slot == 2) return "[1]";
    const int exponent = static_cast<int>(slot) - 2;
    if (exponent + 1 >= 64) return fmt::format("[{}, ...)", power_label(exponent));
    return fmt::format("[{}, {})", power_label(exponent), power_label(exponent + 1));
}

// Slots of LHIST: below lo, steps, at or above hi.
std::string lhist_label(const MapDecl& map, size_t slot, size_t slots) {
    if (slot == 0) return fmt::format("(..., {})", map.lo);
    if (slot == slots - 1) return fmt::format("[{}, ...)", map.hi);
    const int64_t from = map.lo + static_cast<int64_t>(slot - 1) * map.step;
    return fmt::format("[{}, {})", from, from + map.step);
}

std::string value_text(const MapDecl& map, const AggValue& v) {
    switch (map.kind) {
        case KPL_MAP_SUM: return std::to_string(v.sum);
        case KPL_MAP_AVG: return std::to_string(average(v));
        case KPL_MAP_MIN: return std::to_string(v.min);
        case KPL_MAP_MAX: return std::to_string(v.max);
        case KPL_MAP_STATS:
            return fmt::format("count {}, average {}, total {}, min {}, max {}", v.n, average(v), v.sum, v.min, v.max);
        default: return std::to_string(v.n);
    }
}

}  // namespace

double weight(const MapDecl& map, const AggValue& v) {
    switch (map.kind) {
        case KPL_MAP_SUM: return static_cast<double>(v.sum);
        case KPL_MAP_AVG: return v.n ? static_cast<double>(v.sum) / static_cast<double>(v.n) : 0;
        case KPL_MAP_MIN: return static_cast<double>(v.min);
        case KPL_MAP_MAX: return static_cast<double>(v.max);
        default: return static_cast<double>(v.n);
    }
}

std::string draw_histogram(const MapDecl& map, const AggValue& value) {
    const auto& slots = value.slots;
    auto used = [](uint64_t n) { return n != 0; };
    const auto first = std::find_if(slots.begin(), slots.end(), used);
    if (first == slots.end()) return {};
    const auto last = std::find_if(slots.rbegin(), slots.rend(), used).base();
    const uint64_t most = *std::max_element(first, last);
    std::string text;
    for (auto it = first; it != last; ++it) {
        const auto slot = static_cast<size_t>(it - slots.begin());
        const std::string label =
            map.kind == KPL_MAP_HIST ? hist_label(slot) : lhist_label(map, slot, slots.size());
        const auto bar = static_cast<size_t>(static_cast<double>(*it) / static_cast<double>(most) * bar_width);
        text += fmt::format("{:<16} {:>8} |{:<{}}|\n", label, *it, std::string(bar, '@'), bar_width);
    }
    return text;
}

std::string key_text(const std::vector<Datum>& key) {
    std::string text;
    for (size_t i = 0; i < key.size(); i++) text += (i ? ", " : "") + to_text(key[i]);
    return text;
}

std::string render(const MapDecl& map, std::vector<KeyedValue> rows) {
    std::stable_sort(rows.begin(), rows.end(), [&](const KeyedValue& a, const KeyedValue& b) {
        return weight(map, a.value) < weight(map, b.value);
    });
    const std::string name = "@" + map.name;
    std::string text;
    for (const KeyedValue& row : rows) {
        const std::string label = map.keyed ? fmt::format("{}[{}]", name, key_text(row.key)) : name;
        text += is_histogram(map) ? fmt::format("{}:\n{}\n", label, draw_histogram(map, row.value))
                                  : fmt::format("{}: {}\n", label, value_text(map, row.value));
    }
    return text;
}

}  // namespace kpl
