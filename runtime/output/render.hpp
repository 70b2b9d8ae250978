// SPDX-License-Identifier: MIT
// Aggregations as text, as bpftrace's users know them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "device/aggregation.hpp"
#include "ir/unit.hpp"
#include "output/datum.hpp"

namespace kpl {

struct KeyedValue {
    std::vector<Datum> key;  // empty for an aggregation without a key
    AggValue value;
};

// One number that rows are ordered by: the count, the sum, the average…
double weight(const MapDecl& map, const AggValue& value);

// A histogram: one line for each bucket from the first to the last that is not empty, bars 52 wide.
std::string draw_histogram(const MapDecl& map, const AggValue& value);

// "[comm, vfs_read]", "comm", or "" without a key.
std::string key_text(const std::vector<Datum>& key);

// The whole aggregation: rows sorted, smallest weight first as bpftrace prints them, histograms one below the other.
std::string render(const MapDecl& map, std::vector<KeyedValue> rows);

}  // namespace kpl
