// SPDX-License-Identifier: MIT
// JSON lines, with bpftrace's types: {"type": …, "data": …}. Each function gives one whole line. Bytes that are not
// UTF-8 are replaced; integers that a double can't hold are strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "output/render.hpp"

namespace kpl {

std::string json_printf(std::string_view text);             // {"type": "printf", "data": "text"}
std::string json_attached(size_t probes);                   // {"type": "attached_probes", "data": {"probes": 2}}
std::string json_lost(uint64_t events);                     // {"type": "lost_events", "data": {"events": 3}}
// "map", "stats" or "hist": {"type": "map", "data": {"@reads": {"cat": 5}}}; a tuple key is joined by commas.
std::string json_map(const MapDecl& map, const std::vector<KeyedValue>& rows);
// "map", of a map(): {"type": "map", "data": {"@last": {"cat": {"pid": 5}}}}; keys and values by their layouts.
std::string json_entries(const MapDecl& map, const std::vector<std::pair<std::vector<Datum>, std::vector<Datum>>>& entries);

}  // namespace kpl
