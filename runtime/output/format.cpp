// SPDX-License-Identifier: MIT
#include "output/format.hpp"

namespace kpl {

#define FORMAT(name) const Format& name##_format();
#include "output/formats.def"
#undef FORMAT

std::span<const FormatRow> formats() {
    static const FormatRow rows[] = {
#define FORMAT(name) {#name, name##_format()},
#include "output/formats.def"
#undef FORMAT
    };
    return rows;
}

const Format* format_named(std::string_view name) {
    for (const FormatRow& row : formats())
        if (row.name == name) return &row.format;
    return nullptr;
}

}  // namespace kpl
