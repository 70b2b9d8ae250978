// SPDX-License-Identifier: MIT
#include "output/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace kpl {
namespace {

constexpr size_t bar_width = 52;

const kpl_agg_desc& row_of(const MapDecl& map) { return kpl_agg_descs[map.kind]; }

bool is_stepped(const MapDecl& map) { return row_of(map).slots == KPL_SLOTS_STEPS; }

// 1024 → 1K, as bpftrace labels the buckets of hist().
std::string power_label(int exponent) {
    static constexpr std::string_view suffix[] = {"", "K", "M", "G", "T", "P", "E"};
    return fmt::format("{}{}", uint64_t{1} << (exponent % 10), suffix[exponent / 10]);
}

// Of hist(): 0 to 1023 as they are, powers of two from there on with their unit. Of lhist(): what is whole in K or M.
std::string bound_label(const MapDecl& map, int64_t bound) {
    if (is_stepped(map)) {
        if (bound != 0 && bound % (1 << 20) == 0) return fmt::format("{}M", bound >> 20);
        if (bound != 0 && bound % (1 << 10) == 0) return fmt::format("{}K", bound >> 10);
        return std::to_string(bound);
    }
    return bound < 1024 ? std::to_string(bound) : power_label(63 - __builtin_clzll(static_cast<uint64_t>(bound)));
}

std::string slot_label(const MapDecl& map, size_t slot, size_t slots) {
    const Bounds b = slot_bounds(map, slot, slots);
    if (!b.min) return fmt::format("(..., {})", bound_label(map, *b.max));
    if (!b.max) return fmt::format("[{}, ...)", bound_label(map, *b.min));
    if (!is_stepped(map) && *b.max == *b.min + 1) return fmt::format("[{}]", *b.min);
    return fmt::format("[{}, {})", bound_label(map, *b.min), bound_label(map, *b.max));
}

}  // namespace

bool is_histogram(const MapDecl& map) { return row_of(map).slots != KPL_SLOTS_NONE; }

// POWERS: negative, 0, then [2^(i-2), 2^(i-1)). STEPS: below lo, the steps, at or above hi.
Bounds slot_bounds(const MapDecl& map, size_t slot, size_t slots) {
    if (is_stepped(map)) {
        if (slot == 0) return {std::nullopt, map.lo};
        if (slot == slots - 1) return {map.hi, std::nullopt};
        const int64_t from = map.lo + static_cast<int64_t>(slot - 1) * map.step;
        return {from, from + map.step};
    }
    if (slot == 0) return {std::nullopt, 0};
    if (slot == 1) return {0, 1};
    const size_t exponent = std::min<size_t>(slot - 2, 62);
    const int64_t from = int64_t{1} << exponent;
    if (exponent == 62) return {from, std::nullopt};  // up to INT64_MAX
    return {from, from * 2};
}

double weight(const MapDecl& map, const AggValue& v) {
    if (row_of(map).shows == KPL_SHOWS_AVERAGE) return v.exact_average();
    return std::visit([](auto n) { return static_cast<double>(n); }, v.number(row_of(map)).value_or(v.n));
}

std::string value_text(const MapDecl& map, const AggValue& v) {
    if (const auto number = v.number(row_of(map))) return std::visit([](auto n) { return std::to_string(n); }, *number);
    return fmt::format("count {}, average {}, total {}, min {}, max {}", v.n, v.average(), v.sum, v.min, v.max);
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
        const std::string label = slot_label(map, slot, slots.size());
        const auto bar = static_cast<size_t>(static_cast<double>(*it) / static_cast<double>(most) * bar_width);
        text += fmt::format("{:<16}{:>8} |{:<{}}|\n", label, *it, std::string(bar, '@'), bar_width);
    }
    return text;
}

std::string key_text(const std::vector<Datum>& key) {
    std::string text;
    for (size_t i = 0; i < key.size(); i++) text += (i ? ", " : "") + to_shown(key[i]);
    return text;
}

void sort_rows(const MapDecl& map, std::vector<KeyedValue>& rows) {
    std::stable_sort(rows.begin(), rows.end(), [&](const KeyedValue& a, const KeyedValue& b) {
        return weight(map, a.value) < weight(map, b.value);
    });
}

std::vector<std::pair<std::string, AggValue>> by_name(
    const std::vector<KeyedValue>& rows, const std::function<std::string(const std::vector<Datum>&)>& name) {
    std::unordered_map<std::string, size_t> places;
    std::vector<std::pair<std::string, AggValue>> named;
    for (const KeyedValue& row : rows) {
        const auto [place, fresh] = places.try_emplace(name(row.key), named.size());
        if (fresh)
            named.emplace_back(place->first, row.value);
        else
            named[place->second].second.merge(row.value);
    }
    return named;
}

bool untouched(const AggValue& v) {
    return v.n == 0 && v.sum == 0 && std::all_of(v.slots.begin(), v.slots.end(), [](uint64_t n) { return n == 0; });
}

std::string render(const MapDecl& map, const std::vector<KeyedValue>& rows) {
    const std::string name = "@" + map.name;
    std::string text;
    for (const KeyedValue& row : rows) {
        const std::string label = map.keyed ? fmt::format("{}[{}]", name, key_text(row.key)) : name;
        text += is_histogram(map) ? fmt::format("{}:\n{}\n", label, draw_histogram(map, row.value))
                                  : fmt::format("{}: {}\n", label, value_text(map, row.value));
    }
    return text;
}

std::string plain_text(const MapDecl& map, std::vector<KeyedValue> rows) {
    sort_rows(map, rows);
    std::string text = render(map, rows);
    if (!map.keyed && !is_histogram(map)) {
        const auto colon = text.find(": ");
        text = colon == std::string::npos ? "0" : text.substr(colon + 2);
    }
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

}  // namespace kpl
