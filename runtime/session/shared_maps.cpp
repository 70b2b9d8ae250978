// SPDX-License-Identifier: MIT
// User space's side of map(): keys and values by their layouts, one ioctl for each operation.
#include <fmt/format.h>

#include "session/session.hpp"

namespace kpl {
namespace {

std::span<const uint8_t> bytes_of(const std::string& s) { return {reinterpret_cast<const uint8_t*>(s.data()), s.size()}; }

}  // namespace

Result<std::string> Session::map_key(uint32_t map, const std::vector<Datum>& key) const {
    if (map >= maps_.size() || !maps_[map].created)
        return Error{Errc::script, "no armed handler uses this map yet, so its keys have no type"};
    return encode(unit_.maps[map].key, key);
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

Result<std::vector<MapEntry>> Session::entries(uint32_t map) {
    std::vector<MapEntry> entries;
    if (map >= maps_.size() || !maps_[map].created) return entries;
    std::string key, value;
    for (uint64_t cursor = 0; TRY(map_op(map, KPL_MAP_NEXT, key, value, &cursor));)
        entries.push_back({decoder_.fixed(unit_.maps[map].key, bytes_of(key)), decoder_.fixed(unit_.maps[map].value, bytes_of(value))});
    return entries;
}

Result<std::optional<std::vector<Datum>>> Session::get(uint32_t map, const std::vector<Datum>& key) {
    std::string key_bytes = TRY(map_key(map, key)), value;
    std::optional<std::vector<Datum>> found;
    if (TRY(map_op(map, KPL_MAP_GET, key_bytes, value, nullptr))) found = decoder_.fixed(unit_.maps[map].value, bytes_of(value));
    return found;
}

Result<void> Session::set(uint32_t map, const std::vector<Datum>& key, const NamedValues& values) {
    std::string key_bytes = TRY(map_key(map, key));
    std::string value = TRY(encode_named(unit_.maps[map].value, values));
    if (TRY(map_op(map, KPL_MAP_SET, key_bytes, value, nullptr))) return {};
    return Error{Errc::script, fmt::format("the map is full: declare it with a larger max")};
}

Result<bool> Session::erase(uint32_t map, const std::vector<Datum>& key) {
    std::string key_bytes = TRY(map_key(map, key)), value;
    return map_op(map, KPL_MAP_DELETE, key_bytes, value, nullptr);
}

}  // namespace kpl
