// SPDX-License-Identifier: MIT
// Filters of trace events (Documentation/trace/events.rst) as Lua.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kpl {

struct FilterField {
    std::string name, lua;
    bool is_string = false;
};
using FilterFields = std::vector<FilterField>;

// Nothing: a handler has no such test.
std::optional<std::string> filter_as_lua(std::string_view filter, const FilterFields& fields);

}  // namespace kpl
