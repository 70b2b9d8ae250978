// SPDX-License-Identifier: MIT
// A line of JSON output, as bpftrace writes them: {"type": …, "data": …}.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace kpl {

using Json = nlohmann::ordered_json;

// Kernel strings are bytes: what is not UTF-8 is replaced. Control characters that JSON lets stand, U+007F to U+009F,
// are escaped: the reader may be a terminal.
inline std::string json_text(const Json& data) {
    const std::string made = data.dump(-1, ' ', false, Json::error_handler_t::replace);
    std::string text;
    size_t from = 0;
    for (size_t at = 0; (at = made.find_first_of("\x7f\xc2", at)) != made.npos; at++) {
        const auto next = static_cast<unsigned char>(made[at + 1]);
        const bool wide = made[at] != 0x7f;
        if (wide && next >= 0xa0) continue;
        text.append(made, from, at - from);
        text += "\\u00";
        text += wide ? "89"[next >> 4 & 1] : '7';
        text += wide ? "0123456789abcdef"[next & 15] : 'f';
        at += wide;
        from = at + 1;
    }
    return from ? text.append(made, from) : made;
}

// As it will be written: names that differ only in what is replaced are one.
inline std::string json_name(std::string name) {
    const auto plain = [](char c) { return static_cast<signed char>(c) >= 0; };
    if (std::all_of(name.begin(), name.end(), plain)) return name;
    return Json::parse(Json(std::move(name)).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

inline std::string json_line(const char* type, Json data) {
    const Json object = {{"type", type}, {"data", std::move(data)}};
    return json_text(object) + "\n";
}

}  // namespace kpl
