// SPDX-License-Identifier: MIT
// Keys and values by their layouts; a map() takes one ioctl for each operation.
#include "session/armed_maps.hpp"

#include <fmt/format.h>

#include <utility>

#include "symbols/target_text.hpp"

namespace kpl {
namespace {

std::span<const uint8_t> bytes_of(const std::string& s) {
    return {reinterpret_cast<const uint8_t*>(s.data()), s.size()};
}

}  // namespace

Result<void> ArmedMaps::create(uint32_t map) {
    const MapDecl& decl = this->decl(map);
    kpl_map_create request{};
    request.kind = decl.kind;
    request.key_size = decl.key.size;
    request.key_string = key_string(decl.key);
    request.value_size = decl.kind == KPL_MAP_HASH ? decl.value.size : 0;
    request.max_entries = decl.max;
    request.lo = decl.lo, request.hi = decl.hi, request.step = decl.step;
    auto made = parts_.device.create_map(request);
    if (!made)
        return Error{Errc::script,
                     fmt::format("{}: it has room for {} entries; a smaller max= takes less memory", made.error().text,
                                 decl.max ? decl.max : 4096),
                     decl.at};
    maps_[map] = {true, *made, {}};
    fresh_.push_back(map);
    if (decl.kind != KPL_MAP_HASH) maps_[map].aggregation = TRY(Aggregation::create(parts_.device, *made));
    return {};
}

Result<void> ArmedMaps::create() {
    const Unit& unit = parts_.declared.unit();
    maps_.resize(unit.maps.size());
    for (uint32_t i = 0; i < unit.maps.size(); i++)
        if (!maps_[i].created && unit.maps[i].fixed) TRY(create(i));
    return set_early();
}

Result<void> ArmedMaps::set_early() {
    for (const Declared::EarlySet& one : parts_.declared.early_sets()) {
        if (!has(one.map)) continue;
        if (auto ok = set(one.map, one.key, one.value); !ok)
            return Error{Errc::script, "what was set in this map does not fit: " + ok.error().text, decl(one.map).at};
    }
    return {};
}

// A module that can't free keeps it until the session is closed.
void ArmedMaps::undo() {
    for (const uint32_t map : std::exchange(fresh_, {})) {
        const uint32_t id = maps_[map].made.id;
        maps_[map] = {};
        (void)parts_.device.free(KPL_FREE_MAP, id).ok();
    }
}

// ---- aggregations
std::vector<KeyedValue> ArmedMaps::decoded(uint32_t map, std::vector<AggRow> rows) const {
    std::vector<KeyedValue> values;
    for (AggRow& row : rows)
        values.push_back({parts_.kernel.decoder.fixed(decl(map).key, bytes_of(row.key)), std::move(row.value)});
    return values;
}

Result<std::vector<KeyedValue>> ArmedMaps::rows(uint32_t map) const {
    return decoded(map, TRY(maps_[map].aggregation->read(parts_.device)));
}

Result<std::vector<KeyedValue>> ArmedMaps::take(uint32_t map) {
    return decoded(map, TRY(maps_[map].aggregation->take(parts_.device)));
}

Result<AggValue> ArmedMaps::value(uint32_t map, const std::vector<Datum>& key) const {
    return maps_[map].aggregation->value(parts_.device, TRY(key_bytes(map, key)));
}

// ---- keys
// Symbols and pointers reach scripts as text: "vfs_read", "vfs_read+0x1a", "0xffff…".
Result<Datum> ArmedMaps::address_of(const std::string& text) const {
    if (const auto address = parse_address(text)) return Datum{*address};
    if (const uint64_t address = parts_.kernel.symbols.preferred(text)) return Datum{address};
    const TargetText target = TRY(parse_target(text));
    const auto found = TRY(parts_.kernel.symbols.find(target.symbol, target.module));
    if (found.size() != 1)
        return Error{Errc::script, fmt::format("'{}' stands for {} symbols", target.symbol, found.size())};
    return Datum{found[0].addr + target.offset};
}

Result<std::string> ArmedMaps::key_bytes(uint32_t map, std::vector<Datum> key) const {
    const Layout& layout = decl(map).key;
    for (size_t i = 0; i < key.size() && i < layout.fields.size(); i++) {
        const FieldKind kind = layout.fields[i].kind;
        const auto* text = std::get_if<std::string>(&key[i]);
        if (text && (kind == FieldKind::Symbol || kind == FieldKind::Pointer)) key[i] = TRY(address_of(*text));
    }
    return encode(layout, key);
}

// ---- map()
Result<bool> ArmedMaps::op(uint32_t map, kpl_map_op_kind op, std::string& key, std::string& value,
                           uint64_t* cursor) const {
    key.resize(decl(map).key.size);
    value.resize(decl(map).value.size);
    kpl_map_op request{};
    request.id = id(map);
    request.op = op;
    request.key = reinterpret_cast<uint64_t>(key.data());
    request.value = reinterpret_cast<uint64_t>(value.data());
    request.cursor = cursor ? *cursor : 0;
    const bool done = TRY(parts_.device.map_op(request));
    if (cursor) *cursor = request.cursor;
    return done;
}

Result<void> ArmedMaps::clear(uint32_t map) {
    if (is_aggregation(map)) {
        TRY(maps_[map].aggregation->take(parts_.device));
        return {};
    }
    std::vector<std::string> keys;
    std::string key, value;
    for (uint64_t cursor = 0; TRY(op(map, KPL_MAP_NEXT, key, value, &cursor));) keys.push_back(key);
    for (std::string& one : keys) TRY(op(map, KPL_MAP_DELETE, one, value, nullptr));
    return {};
}

Result<std::vector<MapEntry>> ArmedMaps::entries(uint32_t map) const {
    const Decoder& decoder = parts_.kernel.decoder;
    std::vector<MapEntry> entries;
    std::string key, value;
    for (uint64_t cursor = 0; TRY(op(map, KPL_MAP_NEXT, key, value, &cursor));)
        entries.push_back(
            {decoder.fixed(decl(map).key, bytes_of(key)), decoder.fixed(decl(map).value, bytes_of(value))});
    return entries;
}

Result<std::optional<std::vector<Datum>>> ArmedMaps::get(uint32_t map, const std::vector<Datum>& key) const {
    std::string bytes = TRY(key_bytes(map, key)), value;
    std::optional<std::vector<Datum>> found;
    if (TRY(op(map, KPL_MAP_GET, bytes, value, nullptr)))
        found = parts_.kernel.decoder.fixed(decl(map).value, bytes_of(value));
    return found;
}

Result<void> ArmedMaps::set(uint32_t map, const std::vector<Datum>& key, const NamedValues& values) const {
    std::string bytes = TRY(key_bytes(map, key));
    std::string value = TRY(encode_named(decl(map).value, values));
    if (TRY(op(map, KPL_MAP_SET, bytes, value, nullptr))) return {};
    return Error{Errc::script, "the map is full: declare it with a larger max"};
}

Result<bool> ArmedMaps::erase(uint32_t map, const std::vector<Datum>& key) const {
    std::string bytes = TRY(key_bytes(map, key)), value;
    return op(map, KPL_MAP_DELETE, bytes, value, nullptr);
}

Result<ArmedMaps::Losses> ArmedMaps::losses(uint32_t map) const {
    const kpl_map_info info = TRY(parts_.device.map_info(id(map)));
    if (is_aggregation(map)) return Losses{maps_[map].aggregation->lost(), 0, info.lost};
    return Losses{info.lost, info.busy};
}

}  // namespace kpl
