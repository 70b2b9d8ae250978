// SPDX-License-Identifier: MIT
#include "device/aggregation.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <unordered_map>

namespace kpl {
namespace {

uint64_t word(const uint8_t* at) { return __atomic_load_n(reinterpret_cast<const uint64_t*>(at), __ATOMIC_RELAXED); }

// A cell's value as its row of aggs.def lays it out.
AggValue decode(const kpl_agg_desc& agg, const std::vector<uint64_t>& words) {
    AggValue v;
    size_t at = 0;
    auto next = [&] { return static_cast<int64_t>(words[at++]); };
    if (agg.holds & KPL_AGG_N) v.n = words[at++];
    if (agg.holds & KPL_AGG_SUM) v.sum = next();
    if (agg.holds & KPL_AGG_MIN) v.min = next();
    if (agg.holds & KPL_AGG_MAX) v.max = next();
    if (agg.slots != KPL_SLOTS_NONE) {
        v.slots = words;
        for (uint64_t slot : words) v.n += slot;
    }
    return v;
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

void AggValue::merge(const AggValue& other) {
    const bool first = n == 0;
    min = first ? other.min : other.n ? std::min(min, other.min) : min;
    max = first ? other.max : other.n ? std::max(max, other.max) : max;
    n += other.n;
    sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(other.sum));
    slots.resize(std::max(slots.size(), other.slots.size()));
    for (size_t i = 0; i < other.slots.size(); i++) slots[i] += other.slots[i];
}

std::optional<AggValue::Number> AggValue::number(const kpl_agg_desc& agg) const {
    switch (agg.shows) {
        case KPL_SHOWS_N: return n;
        case KPL_SHOWS_SUM: return sum;
        case KPL_SHOWS_AVERAGE: return average();
        case KPL_SHOWS_MIN: return min;
        case KPL_SHOWS_MAX: return max;
    }
    return {};
}

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

// Calls fn(key, value's words) for each cell in use.
template <class Fn>
void Aggregation::for_cells(uint32_t bank, Fn&& fn) const {
    for (uint32_t cpu = 0; cpu < cpus_; cpu++) {
        const uint8_t* at = area(cpu, bank);
        const auto used = __atomic_load_n(&reinterpret_cast<const kpl_agg_bank*>(at)->used, __ATOMIC_ACQUIRE);
        at += sizeof(kpl_agg_bank);
        for (uint64_t i = 0; i < std::min<uint64_t>(used, made_.nr_cells); i++, at += made_.cell_size) {
            const std::string_view key(reinterpret_cast<const char*>(at) + sizeof(kpl_agg_cell), made_.key_size);
            fn(key, reinterpret_cast<const kpl_agg_cell*>(at), at + sizeof(kpl_agg_cell) + made_.key_size);
        }
    }
}

std::vector<AggRow> Aggregation::read_bank(uint32_t bank) const {
    std::vector<AggRow> rows;
    std::unordered_map<std::string, size_t> index;
    for_cells(bank, [&](std::string_view key, const kpl_agg_cell* cell, const uint8_t* value) {
        AggValue one = decode(kpl_agg_descs[made_.kind], read_value(cell, value, made_.value_size));
        const auto [at, fresh] = index.try_emplace(std::string(key), rows.size());
        if (fresh)
            rows.push_back({at->first, std::move(one)});
        else
            rows[at->second].value.merge(one);
    });
    return rows;
}

Result<std::vector<AggRow>> Aggregation::read(const Device& device) const {
    // A clear that runs meanwhile is ours (the session has one owner), so the active bank stays what it is.
    return read_bank(TRY(device.map_info(made_.id)).active);
}

Result<AggValue> Aggregation::value(const Device& device, std::string_view key) const {
    const uint32_t bank = TRY(device.map_info(made_.id)).active;
    AggValue sum;
    bool found = false;
    for_cells(bank, [&](std::string_view other, const kpl_agg_cell* cell, const uint8_t* value) {
        if (other != key) return;
        AggValue one = decode(kpl_agg_descs[made_.kind], read_value(cell, value, made_.value_size));
        if (found)
            sum.merge(one);
        else
            sum = std::move(one);
        found = true;
    });
    return sum;
}

Result<std::vector<AggRow>> Aggregation::take(const Device& device) {
    // The bank that the module empties now was quiet since the last time: its losses are final.
    const uint32_t emptied = 1 - TRY(device.map_info(made_.id)).active;
    const uint64_t lost = lost_in(emptied);
    const kpl_map_clear cleared = TRY(device.clear_map(made_.id));
    lost_before_ += lost;
    return read_bank(cleared.bank);
}

uint64_t Aggregation::lost_in(uint32_t bank) const {
    uint64_t lost = 0;
    for (uint32_t cpu = 0; cpu < cpus_; cpu++) lost += word(area(cpu, bank) + offsetof(kpl_agg_bank, lost));
    return lost;
}

uint64_t Aggregation::lost() const {
    uint64_t lost = lost_before_;
    for (uint32_t bank = 0; bank < made_.nr_banks; bank++) lost += lost_in(bank);
    return lost;
}

}  // namespace kpl
