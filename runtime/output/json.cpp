// SPDX-License-Identifier: MIT
// JSON lines, with bpftrace's types: {"type": "map", "data": {"@reads": {"cat": 5}}}. Bytes that are not UTF-8 are
// replaced; integers that a double can't hold are strings.
#include "output/format.hpp"

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

Json number(int64_t n) { return integer(n); }
Json number(uint64_t n) { return count(n); }

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
    if (const auto one = v.number(kpl_agg_descs[map.kind])) return std::visit([](auto n) { return number(n); }, *one);
    if (is_histogram(map)) return buckets(map, v);
    return {{"count", count(v.n)},
            {"average", integer(v.average())},
            {"total", integer(v.sum)},
            {"min", integer(v.min)},
            {"max", integer(v.max)}};
}

const char* type_of(const MapDecl& map) {
    switch (kpl_agg_descs[map.kind].shows) {
        case KPL_SHOWS_AVERAGE:
        case KPL_SHOWS_WORDS: return "stats";
        case KPL_SHOWS_SLOTS: return "hist";
    }
    return "map";
}

std::string key_name(const std::vector<Datum>& key) {
    std::string name;
    for (size_t i = 0; i < key.size(); i++) name += (i ? "," : "") + to_text(key[i]);
    return json_name(std::move(name));
}

// Without a search for the name.
void append(Json& object, std::string name, Json value) {
    object.get_ref<Json::object_t&>().push_back({std::move(name), std::move(value)});
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
        Json operator()(const ListDatum& list) const {
            Json array = Json::array();
            for (const Element& element : list.elements) array.push_back(std::visit(*this, element));
            return array;
        }
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

class JsonFormat final : public Format {
  public:
    std::string printed(std::string_view text) const override { return json_line("printf", std::string(text)); }

    std::string attached(size_t probes) const override { return json_line("attached_probes", {{"probes", probes}}); }

    std::string lost(uint64_t events) const override { return json_line("lost_events", {{"events", count(events)}}); }

    std::string ring_grown(uint32_t cpu, uint32_t bytes) const override {
        return json_line("ring_grown", {{"cpu", cpu}, {"bytes", bytes}});
    }

    std::string overload(const OverloadLine& line) const override {
        return json_line("overload", {{"probe", line.probe},
                                      {"hits", count(line.hits)},
                                      {"cpu", line.cpu},
                                      {"percent", line.percent},
                                      {"share", line.share}});
    }

    std::string command(int status) const override { return json_line("command", {{"status", status}}); }

    // A tuple key is joined by commas. Readers take the last of two members of one name.
    std::string map(const MapDecl& map, const std::vector<KeyedValue>& rows) const override {
        Json values = Json::object();
        for (const auto& [name, value] : by_name(rows, key_name)) {
            if (map.keyed)
                append(values, name, value_of(map, value));
            else
                values = value_of(map, value);
        }
        return json_line(type_of(map), {{"@" + map.name, std::move(values)}});
    }

    // Keys and values by their layouts: {"@last": {"cat": {"pid": 5}}}. What handlers stored can't be added up: two
    // keys that look alike are two members.
    std::optional<std::string> entries(const MapDecl& map, const std::vector<Entry>& entries) const override {
        Json values = Json::object();
        for (const auto& [key, value] : entries) append(values, key_name(key), value_of(map, value));
        return json_line("map", {{"@" + map.name, std::move(values)}});
    }

    bool lists_are_json() const override { return true; }
};

}  // namespace

const Format& json_format() {
    static const JsonFormat format;
    return format;
}

}  // namespace kpl
