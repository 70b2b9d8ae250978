// SPDX-License-Identifier: MIT
#include "arch/points.hpp"

#include <fmt/format.h>

#include "arch/arch.hpp"

namespace kpl {
namespace {

struct WhyRow {
    std::string_view name, text;
};
constexpr WhyRow rows[] = {
    {"", ""},
#define WHY(name, text) {#name, text},
#include "arch/points.def"
#undef WHY
};

}  // namespace

std::string_view name_of(Why why) { return rows[static_cast<size_t>(why)].name; }

std::string text_of(const Verdict& verdict, uint64_t function) {
    std::string text(rows[static_cast<size_t>(verdict.why)].text);
    if (const auto place = text.find("%s"); place != std::string::npos)
        text.replace(place, 2, fmt::format("+{:#x}", verdict.at - function));
    return text;
}

std::vector<ProbePoint> analyse(const Arch& arch, const FunctionFacts& facts) { return arch.points(facts); }

}  // namespace kpl
