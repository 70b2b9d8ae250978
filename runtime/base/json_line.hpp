// SPDX-License-Identifier: MIT
// A line of JSON output, as bpftrace writes them: {"type": …, "data": …}. Kernel strings are bytes: what is not UTF-8
// is replaced.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace kpl {

using Json = nlohmann::ordered_json;

// As it will be written: names that differ only in what is replaced are one.
inline std::string json_name(std::string name) {
    const auto plain = [](char c) { return static_cast<signed char>(c) >= 0; };
    if (std::all_of(name.begin(), name.end(), plain)) return name;
    return Json::parse(Json(std::move(name)).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

inline std::string json_line(const char* type, Json data) {
    const Json object = {{"type", type}, {"data", std::move(data)}};
    return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kpl
