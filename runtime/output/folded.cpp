// SPDX-License-Identifier: MIT
// Folded stacks, for flame graphs: "a;b;c_[k] N", outermost first, after the key's other elements. What has no one
// number (histograms, stats) gives its count.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "output/format.hpp"

namespace kpl {
namespace {

// "f(int)+0x1c [server]" without its offset and its file, which a name of C++ may look like.
std::string folded_user_frame(std::string text) {
    if (text.starts_with("0x")) return text;
    text.resize(std::min(text.rfind(" ["), text.size()));
    const size_t plus = text.rfind("+0x");
    if (plus != text.npos && text.find_first_not_of("0123456789abcdef", plus + 3) == text.npos) text.resize(plus);
    for (char& c : text)
        if (c == ';') c = ':';
    return text;
}

// A frame's function alone.
std::string folded_frame(const SymbolDatum& frame, bool kernel) {
    if (!kernel) return folded_user_frame(frame.text);
    return frame.text.substr(0, frame.text.find_first_of("+ ")) + "_[k]";
}

std::string folded_element(const Datum& datum) {
    const auto* stack = std::get_if<StackDatum>(&datum);
    std::string text;
    if (stack) {
        for (auto frame = stack->frames.rbegin(); frame != stack->frames.rend(); ++frame)
            text += (text.empty() ? "" : ";") + folded_frame(*frame, stack->kernel);
        return text;
    }
    text = to_shown(datum, "\n");
    for (char& c : text)
        if (c == ';' || c == '\n') c = ':';
    return text;
}

class Folded final : public Format {
  public:
    std::string map(const MapDecl& map, const std::vector<KeyedValue>& rows) const override {
        const auto line_of = [&](const std::vector<Datum>& key) {
            std::string line = key.empty() ? map.name : "";
            for (const Datum& element : key) {
                const std::string one = folded_element(element);
                line += (line.empty() || one.empty() ? "" : ";") + one;
            }
            return line;
        };
        std::string text;
        for (const auto& [line, value] : by_name(rows, line_of)) {  // stacks that differ in offsets alone are one
            const bool one_number = value.number(kpl_agg_descs[map.kind]).has_value();
            text += fmt::format("{} {}\n", line, one_number ? value_text(map, value) : std::to_string(value.n));
        }
        return text;
    }
};

}  // namespace

const Format& folded_format() {
    static const Folded format;
    return format;
}

}  // namespace kpl
