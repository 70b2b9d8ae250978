// SPDX-License-Identifier: MIT
#include "straying.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace kpl {
namespace {

constexpr std::string_view case_mark = "kpl-case: ";  // as runner.sh says it on the console

constexpr std::string_view signs[] = {"int3: 0000 [#1]", "soft lockup", "self-detected stall", "detected stalls",
                                      "detected expedited stalls"};
// What the report of a sign goes on with.
constexpr std::string_view sequels[] = {"Call Trace:", "Kernel panic - not syncing: Fatal exception"};

bool is_sign(std::string_view line) {
    return std::any_of(std::begin(signs), std::end(signs),
                       [line](std::string_view sign) { return line.find(sign) != line.npos; });
}

bool is_sequel(std::string_view line) {
    return std::any_of(std::begin(sequels), std::end(sequels),
                       [line](std::string_view sequel) { return without_stamp(line).starts_with(sequel); });
}

}  // namespace

std::vector<std::string> case_of_each(const std::vector<std::string>& lines) {
    std::vector<std::string> names;
    std::string name = no_case;
    for (const std::string& line : lines) {
        if (const auto at = line.find(case_mark); at != line.npos) name = line.substr(at + case_mark.size());
        names.push_back(name);
    }
    return names;
}

std::map<std::string, std::string> strayed_cases(const Console& console) {
    struct Part {
        std::string sign;  // the first
        bool other = false;
    };
    std::map<std::string, Part> parts;
    const std::vector<std::string> lines = console.lines(), names = case_of_each(lines);
    const std::vector<std::size_t>& splats = console.splat_lines();
    for (std::size_t i = 0; i < lines.size(); i++) {
        Part& part = parts[names[i]];
        if (is_sign(lines[i])) {
            if (part.sign.empty()) part.sign = lines[i];
        } else if (std::binary_search(splats.begin(), splats.end(), i)) {
            part.other = part.other || part.sign.empty() || !is_sequel(lines[i]);
        }
        part.other = part.other || names_our_module(lines[i]);
    }
    parts.erase(no_case);
    std::map<std::string, std::string> strayed;
    for (const auto& [name, part] : parts)
        if (!part.sign.empty() && !part.other) strayed[name] = part.sign;
    return strayed;
}

}  // namespace kpl
