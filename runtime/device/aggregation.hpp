// SPDX-License-Identifier: MIT
// Aggregation: reads the per-CPU cells of an aggregation map and merges them, with no system call for each key.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/mapping.hpp"
#include "base/result.hpp"
#include "core/core.h"
#include "device/device.hpp"

namespace kpl {

// The merged value of one key. Which members mean something is in aggs.def.
struct AggValue {
    uint64_t n = 0;  // how many were added; of count(): the count
    int64_t sum = 0;
    int64_t min = 0;
    int64_t max = 0;
    std::vector<uint64_t> slots;

    int64_t average() const { return n ? sum / static_cast<int64_t>(n) : 0; }
    double exact_average() const { return n ? static_cast<double>(sum) / static_cast<double>(n) : 0; }

    // With that of another CPU, or of a key that looks the same.
    void merge(const AggValue& other);

    // The one number that stands for it (a count is unsigned); none for all words and for histograms.
    using Number = std::variant<int64_t, uint64_t>;
    std::optional<Number> number(const kpl_agg_desc& agg) const;
};

struct AggRow {
    std::string key;  // the key's bytes
    AggValue value;
};

class Aggregation {
  public:
    // `made` is what Device::create_map returned.
    static Result<Aggregation> create(const Device& device, const kpl_map_create& made);

    // All keys, merged over CPUs, in the order of first sight. Updates that run meanwhile are in or out as a whole.
    Result<std::vector<AggRow>> read(const Device& device) const;
    // One key; n is 0 when it was never updated.
    Result<AggValue> value(const Device& device, std::string_view key) const;
    // Empties it, and gives what was in it: each update is either in the rows or in what is read later.
    Result<std::vector<AggRow>> take(const Device& device);
    // Updates that were refused because the map was full, of all time.
    uint64_t lost() const;

  private:
    const uint8_t* area(uint32_t cpu, uint32_t bank) const;
    template <class Fn>
    void for_cells(uint32_t bank, Fn&& fn) const;
    std::vector<AggRow> read_bank(uint32_t bank) const;
    uint64_t lost_in(uint32_t bank) const;

    Mapping mapping_;
    kpl_map_create made_{};
    uint32_t cpus_ = 0;
    uint64_t lost_before_ = 0;  // in banks that were emptied since
};

}  // namespace kpl
