// SPDX-License-Identifier: MIT
#include "output/json.hpp"

#include <limits>

#include "base/json_line.hpp"

namespace kpl {
namespace {

constexpr int64_t exact = int64_t{1} << 53;

Json integer(int64_t n) {
    if (n < -exact || n > exact) return std::to_string(n);
    return n;
}

Json count(uint64_t n) {
    if (n > static_cast<uint64_t>(exact)) return std::to_string(n);
    return n;
}

int64_t average(const AggValue& v) { return v.n ? v.sum / static_cast<int64_t>(v.n) : 0; }

// From the first to the last that is not empty. `max` is in the bucket; one without an end has no such member.
Json buckets(const MapDecl& map, const AggValue& v) {
    Json list = Json::array();
    size_t from = 0, to = v.slots.size();
    while (from < to && !v.slots[from]) from++;
    while (to > from && !v.slots[to - 1]) to--;
    for (size_t slot = from; slot < to; slot++) {
        const Bounds bounds = slot_bounds(map, slot, v.slots.size());
        Json bucket;
        if (bounds.min) bucket["min"] = integer(*bounds.min);
        if (bounds.max) bucket["max"] = integer(*bounds.max - 1);
        bucket["count"] = count(v.slots[slot]);
        list.push_back(std::move(bucket));
    }
    return list;
}

Json value_of(const MapDecl& map, const AggValue& v) {
    switch (map.kind) {
        case KPL_MAP_SUM: return integer(v.sum);
        case KPL_MAP_AVG: return integer(average(v));
        case KPL_MAP_MIN: return integer(v.min);
        case KPL_MAP_MAX: return integer(v.max);
        case KPL_MAP_STATS:
            return {{"count", count(v.n)}, {"average", integer(average(v))}, {"total", integer(v.sum)},
                    {"min", integer(v.min)}, {"max", integer(v.max)}};
        case KPL_MAP_HIST:
        case KPL_MAP_LHIST: return buckets(map, v);
        default: return count(v.n);
    }
}

const char* type_of(const MapDecl& map) {
    switch (map.kind) {
        case KPL_MAP_AVG:
        case KPL_MAP_STATS: return "stats";
        case KPL_MAP_HIST:
        case KPL_MAP_LHIST: return "hist";
        default: return "map";
    }
}

std::string key_name(const std::vector<Datum>& key) {
    std::string name;
    for (size_t i = 0; i < key.size(); i++) name += (i ? "," : "") + to_text(key[i]);
    return name;
}

// As the rows come, without a search for the name: two keys may look alike once they are text, and both count.
void append(Json& object, const std::vector<Datum>& key, Json value) {
    object.get_ref<Json::object_t&>().push_back({key_name(key), std::move(value)});
}

Json value_of(const Datum& datum) {
    struct Visitor {
        Json operator()(const Nil&) const { return nullptr; }
        Json operator()(bool b) const { return b; }
        Json operator()(int64_t n) const { return integer(n); }
        Json operator()(uint64_t n) const { return count(n); }
        Json operator()(const std::string& s) const { return s; }
        Json operator()(const PointerDatum& p) const { return to_text(p); }
        Json operator()(const SymbolDatum& s) const { return s.text; }
        Json operator()(const StackDatum& s) const { return to_text(s); }
    };
    return std::visit(Visitor{}, datum);
}

Json value_of(const MapDecl& map, const std::vector<Datum>& fields) {
    if (!map.struct_value) return fields.empty() ? Json() : value_of(fields[0]);
    Json object = Json::object();
    for (size_t i = 0; i < fields.size(); i++)
        if (!std::holds_alternative<Nil>(fields[i])) object[map.value.fields[i].name] = value_of(fields[i]);
    return object;
}

}  // namespace

std::string json_printf(std::string_view text) { return json_line("printf", std::string(text)); }

std::string json_attached(size_t probes) { return json_line("attached_probes", {{"probes", probes}}); }

std::string json_lost(uint64_t events) { return json_line("lost_events", {{"events", count(events)}}); }

std::string json_entries(const MapDecl& map, const std::vector<std::pair<std::vector<Datum>, std::vector<Datum>>>& entries) {
    Json values = Json::object();
    for (const auto& [key, value] : entries) append(values, key, value_of(map, value));
    return json_line("map", {{"@" + map.name, std::move(values)}});
}

std::string json_map(const MapDecl& map, const std::vector<KeyedValue>& rows) {
    Json values = Json::object();
    for (const KeyedValue& row : rows) {
        if (map.keyed)
            append(values, row.key, value_of(map, row.value));
        else
            values = value_of(map, row.value);
    }
    return json_line(type_of(map), {{"@" + map.name, std::move(values)}});
}

}  // namespace kpl
