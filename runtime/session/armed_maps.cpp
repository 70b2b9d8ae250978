// SPDX-License-Identifier: MIT
// User space's side of map(): keys and values by their layouts, one ioctl for each operation.
#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "output/json.hpp"
#include "session/session.hpp"

namespace kpl {
namespace {

std::span<const uint8_t> bytes_of(const std::string& s) { return {reinterpret_cast<const uint8_t*>(s.data()), s.size()}; }

}  // namespace

// Symbols and pointers reach scripts as text: "vfs_read", "vfs_read+0x1a", "0xffff…".
Result<Datum> Session::address_of(const std::string& text) {
    uint64_t number = 0;
    const auto plus = text.find('+');
    const std::string digits = text.starts_with("0x") ? text.substr(2) : plus == std::string::npos ? "" : text.substr(plus + 3);
    if (!digits.empty() && std::from_chars(digits.data(), digits.data() + digits.size(), number, 16).ec != std::errc())
        return Error{Errc::script, fmt::format("'{}' is no address", text)};
    if (text.starts_with("0x")) return Datum{number};
    const auto found = TRY(symbols_.find(text.substr(0, plus)));
    if (found.size() != 1)
        return Error{Errc::script, fmt::format("'{}' stands for {} symbols", text.substr(0, plus), found.size())};
    return Datum{found[0].addr + number};
}

Result<std::string> Session::map_key(uint32_t map, std::vector<Datum> key) {
    if (map >= maps_.size() || !maps_[map].created)
        return Error{Errc::script, "no armed handler uses this map yet, so its keys have no type"};
    const Layout& layout = unit_.maps[map].key;
    for (size_t i = 0; i < key.size() && i < layout.fields.size(); i++) {
        const FieldKind kind = layout.fields[i].kind;
        const auto* text = std::get_if<std::string>(&key[i]);
        if (text && (kind == FieldKind::Symbol || kind == FieldKind::Pointer)) key[i] = TRY(address_of(*text));
    }
    return encode(layout, key);
}

Result<bool> Session::map_op(uint32_t map, kpl_map_op_kind op, std::string& key, std::string& value, uint64_t* cursor) const {
    key.resize(unit_.maps[map].key.size);
    value.resize(unit_.maps[map].value.size);
    kpl_map_op request{};
    request.id = maps_[map].made.id;
    request.op = op;
    request.key = reinterpret_cast<uint64_t>(key.data());
    request.value = reinterpret_cast<uint64_t>(value.data());
    request.cursor = cursor ? *cursor : 0;
    const bool done = TRY(device_->map_op(request));
    if (cursor) *cursor = request.cursor;
    return done;
}

Result<void> Session::clear_shared(uint32_t map) {
    if (map >= maps_.size() || !maps_[map].created) return {};
    std::vector<std::string> keys;
    std::string key, value;
    for (uint64_t cursor = 0; TRY(map_op(map, KPL_MAP_NEXT, key, value, &cursor));) keys.push_back(key);
    for (std::string& one : keys) TRY(map_op(map, KPL_MAP_DELETE, one, value, nullptr));
    return {};
}

Result<std::vector<MapEntry>> Session::entries(uint32_t map) {
    std::vector<MapEntry> entries;
    if (map >= maps_.size() || !maps_[map].created) return entries;
    std::string key, value;
    for (uint64_t cursor = 0; TRY(map_op(map, KPL_MAP_NEXT, key, value, &cursor));)
        entries.push_back({decoder_.fixed(unit_.maps[map].key, bytes_of(key)), decoder_.fixed(unit_.maps[map].value, bytes_of(value))});
    return entries;
}

Result<std::optional<std::string>> Session::entries_output(uint32_t map) {
    if (options_.format != Format::Json) return std::optional<std::string>();
    std::vector<std::pair<std::vector<Datum>, std::vector<Datum>>> all;
    for (MapEntry& entry : TRY(entries(map))) all.emplace_back(std::move(entry.key), std::move(entry.value));
    return std::optional(json_entries(unit_.maps[map], all));
}

Result<std::optional<std::vector<Datum>>> Session::get(uint32_t map, const std::vector<Datum>& key) {
    std::string key_bytes = TRY(map_key(map, key)), value;
    std::optional<std::vector<Datum>> found;
    if (TRY(map_op(map, KPL_MAP_GET, key_bytes, value, nullptr))) found = decoder_.fixed(unit_.maps[map].value, bytes_of(value));
    return found;
}

// What is set before the map is there is set when it is.
Result<void> Session::set(uint32_t map, const std::vector<Datum>& key, const NamedValues& values) {
    if (map >= maps_.size() || !maps_[map].created) {
        early_sets_.push_back({map, key, values});
        return {};
    }
    std::string key_bytes = TRY(map_key(map, key));
    std::string value = TRY(encode_named(unit_.maps[map].value, values));
    if (TRY(map_op(map, KPL_MAP_SET, key_bytes, value, nullptr))) return {};
    return Error{Errc::script, fmt::format("the map is full: declare it with a larger max")};
}

Result<void> Session::set_early() {
    std::vector<EarlySet> later;
    for (EarlySet& one : std::exchange(early_sets_, {})) {
        if (!maps_[one.map].created) {
            later.push_back(std::move(one));
        } else if (auto ok = set(one.map, one.key, one.value); !ok) {
            return Error{Errc::script, "what was set in this map does not fit: " + ok.error().text, unit_.maps[one.map].at};
        }
    }
    early_sets_ = std::move(later);
    return {};
}

Result<bool> Session::erase(uint32_t map, const std::vector<Datum>& key) {
    std::string key_bytes = TRY(map_key(map, key)), value;
    return map_op(map, KPL_MAP_DELETE, key_bytes, value, nullptr);
}

}  // namespace kpl
