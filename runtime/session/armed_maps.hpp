// SPDX-License-Identifier: MIT
// ArmedMaps: the maps of a unit that the module has, by their numbers in the unit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/aggregation.hpp"
#include "device/device.hpp"
#include "session/declared.hpp"
#include "session/kernel_view.hpp"

namespace kpl {

class ArmedMaps {
  public:
    // What outlives it.
    struct Parts {
        const Device& device;
        const Declared& declared;
        KernelView& kernel;
    };
    explicit ArmedMaps(Parts parts) : parts_(parts) {}

    // Makes those that compiled handlers use and that are not there yet, and sets what was set before they were.
    Result<void> create();
    void keep() { fresh_.clear(); }
    // Frees those that create() has made since keep().
    void undo();

    bool has(uint32_t map) const { return map < maps_.size() && maps_[map].created; }
    bool is_aggregation(uint32_t map) const { return has(map) && maps_[map].aggregation; }
    uint32_t id(uint32_t map) const { return maps_[map].made.id; }  // the module's

    // Of an aggregation.
    Result<std::vector<KeyedValue>> rows(uint32_t map) const;
    Result<std::vector<KeyedValue>> take(uint32_t map);
    Result<AggValue> value(uint32_t map, const std::vector<Datum>& key) const;

    // Of a map().
    Result<std::vector<MapEntry>> entries(uint32_t map) const;
    Result<std::optional<std::vector<Datum>>> get(uint32_t map, const std::vector<Datum>& key) const;
    Result<void> set(uint32_t map, const std::vector<Datum>& key, const NamedValues& value) const;
    Result<bool> erase(uint32_t map, const std::vector<Datum>& key) const;
    Result<void> clear(uint32_t map);  // of either

    struct Losses {
        uint64_t full = 0;     // updates refused because the map was full
        uint64_t busy = 0;     // accesses given up
        uint64_t without = 0;  // updates on CPUs that got no memory for it
    };
    Result<Losses> losses(uint32_t map) const;

  private:
    struct Map {
        bool created = false;
        kpl_map_create made{};
        std::optional<Aggregation> aggregation;
    };

    const MapDecl& decl(uint32_t map) const { return parts_.declared.unit().maps[map]; }
    Result<void> create(uint32_t map);
    Result<void> set_early();
    std::vector<KeyedValue> decoded(uint32_t map, std::vector<AggRow> rows) const;
    Result<Datum> address_of(const std::string& text) const;
    Result<std::string> key_bytes(uint32_t map, std::vector<Datum> key) const;
    Result<bool> op(uint32_t map, kpl_map_op_kind op, std::string& key, std::string& value, uint64_t* cursor) const;

    Parts parts_;
    std::vector<Map> maps_;
    std::vector<uint32_t> fresh_;  // made since keep()
};

}  // namespace kpl
