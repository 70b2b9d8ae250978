// SPDX-License-Identifier: MIT
// klua_rows: what was read of a map. It owns what its values point to, and needs no session.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/handle.hpp"

namespace kpl::api {

// A field of a key or a value.
struct Cell {
    Datum datum;
    uint16_t type = KLUA_NIL, element = KLUA_NIL;  // enum klua_type
    std::vector<uint64_t> words{};                 // frames, an address, a list: as in records
    uint32_t length = 0;                           // of `words`, as klua_value has it

    klua_value value() const;
};
std::vector<Cell> cells(const Layout& layout, std::vector<Datum> data);

// Of a KLUA_INET.
std::string inet_text(const klua_value& value);

}  // namespace kpl::api

struct klua_rows {
    struct Row {
        std::vector<kpl::api::Cell> key, value;
        kpl::AggValue aggregate;
    };
    kpl::MapDecl map;
    std::vector<Row> rows;
};
