// SPDX-License-Identifier: MIT
#include "device/aggregation.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <unordered_map>

namespace kpl {
namespace {

uint64_t word(const uint8_t* at) { return __atomic_load_n(reinterpret_cast<const uint64_t*>(at), __ATOMIC_RELAXED); }

// A cell's value as its kind lays it out (enum kpl_map_kind).
AggValue decode(uint32_t kind, const std::vector<uint64_t>& words) {
    AggValue v;
    auto s = [&](size_t i) { return static_cast<int64_t>(words[i]); };
    switch (kind) {
        case KPL_MAP_COUNT: v.n = words[0]; break;
        case KPL_MAP_SUM: v.sum = s(0); break;
        case KPL_MAP_AVG: v.n = words[0], v.sum = s(1); break;
        case KPL_MAP_MIN: v.n = words[0], v.min = s(1); break;
        case KPL_MAP_MAX: v.n = words[0], v.max = s(1); break;
        case KPL_MAP_STATS: v.n = words[0], v.sum = s(1), v.min = s(2), v.max = s(3); break;
        default:
            v.slots = words;
            for (uint64_t slot : words) v.n += slot;
    }
    return v;
}

void merge(AggValue& into, const AggValue& from) {
    const bool first = into.n == 0;
    into.min = first ? from.min : from.n ? std::min(into.min, from.min) : into.min;
    into.max = first ? from.max : from.n ? std::max(into.max, from.max) : into.max;
    into.n += from.n;
    into.sum = static_cast<int64_t>(static_cast<uint64_t>(into.sum) + static_cast<uint64_t>(from.sum));
    into.slots.resize(std::max(into.slots.size(), from.slots.size()));
    for (size_t i = 0; i < from.slots.size(); i++) into.slots[i] += from.slots[i];
}

// Copies the value between two equal, even sequence counts.
std::vector<uint64_t> read_value(const kpl_agg_cell* cell, const uint8_t* value, uint32_t size) {
    std::vector<uint64_t> words(size / 8);
    for (;;) {
        const uint32_t before = __atomic_load_n(&cell->seq, __ATOMIC_ACQUIRE);
        for (size_t i = 0; i < words.size(); i++) words[i] = word(value + i * 8);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (!(before & 1) && before == __atomic_load_n(&cell->seq, __ATOMIC_RELAXED)) return words;
    }
}

}  // namespace

Result<Aggregation> Aggregation::create(const Device& device, const kpl_map_create& made) {
    Aggregation agg;
    agg.made_ = made;
    agg.cpus_ = device.cpus();
    agg.mapping_ = TRY(device.map(made.mmap_off, made.mmap_size, PROT_READ));
    return agg;
}

const uint8_t* Aggregation::area(uint32_t cpu, uint32_t bank) const {
    return mapping_.data() + (uint64_t{cpu} * made_.nr_banks + bank) * made_.bank_size;
}

void Aggregation::read_bank(uint32_t bank, std::vector<AggRow>& rows) const {
    std::unordered_map<std::string, size_t> index;
    for (uint32_t cpu = 0; cpu < cpus_; cpu++) {
        const uint8_t* cells = area(cpu, bank) + sizeof(kpl_agg_bank);
        for (uint32_t i = 0; i < made_.nr_cells; i++) {
            auto* cell = reinterpret_cast<const kpl_agg_cell*>(cells + uint64_t{i} * made_.cell_size);
            if (__atomic_load_n(&cell->hash, __ATOMIC_ACQUIRE) == 0) continue;
            auto* key = reinterpret_cast<const uint8_t*>(cell + 1);
            const AggValue value =
                decode(made_.kind, read_value(cell, key + made_.key_size, made_.value_size));
            const auto [at, fresh] = index.try_emplace(std::string(reinterpret_cast<const char*>(key), made_.key_size), rows.size());
            if (fresh)
                rows.push_back({at->first, value});
            else
                merge(rows[at->second].value, value);
        }
    }
}

Result<std::vector<AggRow>> Aggregation::read(const Device& device) const {
    // A clear that runs meanwhile is ours (the session has one owner), so the active bank stays what it is.
    const kpl_map_info info = TRY(device.map_info(made_.id));
    std::vector<AggRow> rows;
    read_bank(info.active, rows);
    return rows;
}

Result<AggValue> Aggregation::value(const Device& device, std::string_view key) const {
    for (AggRow& row : TRY(read(device)))
        if (row.key == key) return std::move(row.value);
    return AggValue{};
}

Result<void> Aggregation::clear(const Device& device) {
    TRY(device.clear_map(made_.id));
    return {};
}

uint64_t Aggregation::lost() const {
    uint64_t lost = 0;
    for (uint32_t cpu = 0; cpu < cpus_; cpu++)
        for (uint32_t bank = 0; bank < made_.nr_banks; bank++)
            lost += word(area(cpu, bank) + offsetof(kpl_agg_bank, lost));
    return lost;
}

}  // namespace kpl
