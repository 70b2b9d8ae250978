// SPDX-License-Identifier: MIT
// Aggregations as text, as bpftrace's users know them.
#pragma once

#include <functional>
#include <optional>
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

// The range [min, max) of a histogram's slot; no value: without that end. A single number n is [n, n + 1).
struct Bounds {
    std::optional<int64_t> min, max;
};
Bounds slot_bounds(const MapDecl& map, size_t slot, size_t slots);

bool is_histogram(const MapDecl& map);

// One number that rows are ordered by: the count, the sum, the average…
double weight(const MapDecl& map, const AggValue& value);

// A value that is no histogram: its number, or all of its words by name.
std::string value_text(const MapDecl& map, const AggValue& value);

// A histogram: one line for each bucket from the first to the last that is not empty, bars 52 wide.
std::string draw_histogram(const MapDecl& map, const AggValue& value);

// "[comm, vfs_read]", "comm", or "" without a key.
std::string key_text(const std::vector<Datum>& key);

// Smallest weight first, as bpftrace prints them.
void sort_rows(const MapDecl& map, std::vector<KeyedValue>& rows);

// Rows whose keys have one name are one, where the first of them is.
std::vector<std::pair<std::string, AggValue>> by_name(
    const std::vector<KeyedValue>& rows, const std::function<std::string(const std::vector<Datum>&)>& name);

// Nothing was ever added (but zeros): not worth a line at the end.
bool untouched(const AggValue& value);

// The whole aggregation: one line or one histogram for each row.
std::string render(const MapDecl& map, const std::vector<KeyedValue>& rows);

// What tostring() gives of it, without a newline at its end; without a key and a drawing, the value alone.
std::string plain_text(const MapDecl& map, std::vector<KeyedValue> rows);

}  // namespace kpl
