// SPDX-License-Identifier: MIT
// A line of JSON output, as bpftrace writes them: {"type": …, "data": …}. Kernel strings are bytes: what is not UTF-8
// is replaced.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace kpl {

using Json = nlohmann::ordered_json;

inline std::string json_line(const char* type, Json data) {
    const Json object = {{"type", type}, {"data", std::move(data)}};
    return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kpl
