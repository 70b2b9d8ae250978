// SPDX-License-Identifier: MIT
#include "output/printf.hpp"

#include <algorithm>
#include <cstdio>

#include "base/printable.hpp"

namespace kpl {
namespace {

uint64_t number_of(const Datum& datum) {
    struct Visitor {
        uint64_t operator()(const Nil&) const { return 0; }
        uint64_t operator()(bool b) const { return b; }
        uint64_t operator()(int64_t n) const { return static_cast<uint64_t>(n); }
        uint64_t operator()(uint64_t n) const { return n; }
        uint64_t operator()(const PointerDatum& p) const { return p.address; }
        uint64_t operator()(const SymbolDatum& s) const { return s.address; }
        uint64_t operator()(const std::string&) const { return 0; }
        uint64_t operator()(const StackDatum&) const { return 0; }
        uint64_t operator()(const ListDatum&) const { return 0; }
    };
    return std::visit(Visitor{}, datum);
}

template <class T>
std::string c_format(const std::string& spec, T value) {
    char buffer[128];
    const int n = std::snprintf(buffer, sizeof buffer, spec.c_str(), value);
    if (n < 0) return {};
    if (static_cast<size_t>(n) < sizeof buffer) return {buffer, static_cast<size_t>(n)};
    std::string text(static_cast<size_t>(n) + 1, '\0');
    std::snprintf(text.data(), text.size(), spec.c_str(), value);
    text.pop_back();
    return text;
}

// Pads and cuts as printf does. Lines and tabs stay.
std::string string_field(std::string text, std::string_view flags, size_t width, size_t precision) {
    text = printable(text.substr(0, precision), "\n\t");
    if (text.size() >= width) return text;
    const bool left = flags.find('-') != std::string_view::npos;
    return left ? text + std::string(width - text.size(), ' ') : std::string(width - text.size(), ' ') + text;
}

// One conversion, parsed.
struct Spec {
    std::string flags;
    size_t width = 0;
    size_t precision = std::string::npos;
    char conversion = 0;
};

// Widths and precisions; the compiler takes none over 99.
size_t parse_number(std::string_view format, size_t& at) {
    constexpr size_t most = 1000;
    size_t n = 0;
    while (at < format.size() && format[at] >= '0' && format[at] <= '9')
        n = std::min(most, n * 10 + static_cast<size_t>(format[at++] - '0'));
    return n;
}

Spec parse_spec(std::string_view format, size_t& at) {
    Spec spec;
    while (at < format.size() && std::string_view("-+ #0").find(format[at]) != std::string_view::npos)
        spec.flags += format[at++];
    spec.width = parse_number(format, at);
    if (at < format.size() && format[at] == '.') spec.precision = parse_number(format, ++at);
    while (at < format.size() && (format[at] == 'l' || format[at] == 'z' || format[at] == 'h')) at++;
    if (at < format.size()) spec.conversion = format[at++];
    return spec;
}

std::string convert(const Spec& spec, const Datum& value) {
    std::string head = "%" + spec.flags;
    if (spec.width) head += std::to_string(spec.width);
    if (spec.precision != std::string::npos) head += "." + std::to_string(spec.precision);
    const uint64_t n = number_of(value);
    switch (spec.conversion) {
        case 'd':
        case 'i':
            // A 64-bit unsigned value keeps its value, as string.format("%d") of a uint64_t would.
            if (std::holds_alternative<uint64_t>(value))
                return c_format(head + "llu", static_cast<unsigned long long>(n));
            return c_format(head + "lld", static_cast<long long>(n));
        case 'u':
        case 'x':
        case 'X':
        case 'o': return c_format(head + "ll" + spec.conversion, static_cast<unsigned long long>(n));
        case 'c': return string_field(std::string(1, static_cast<char>(n)), spec.flags, spec.width, spec.precision);
        case 'p': return string_field(to_text(PointerDatum{n}), spec.flags, spec.width, std::string::npos);
        default: return string_field(to_text(value), spec.flags, spec.width, spec.precision);
    }
}

}  // namespace

std::string format_printf(std::string_view format, const std::vector<Datum>& values) {
    std::string out;
    size_t next = 0;
    for (size_t at = 0; at < format.size();) {
        if (format[at] != '%') {
            out += format[at++];
            continue;
        }
        const Spec spec = parse_spec(format, ++at);
        if (spec.conversion == '%')
            out += '%';
        else if (next < values.size())
            out += convert(spec, values[next++]);
    }
    return out;
}

std::string format_print(const std::vector<Datum>& values) {
    std::string out;
    for (size_t i = 0; i < values.size(); i++) {
        if (i) out += '\t';
        out += to_shown(values[i], "\n\t");
    }
    if (out.starts_with('\n')) out.erase(0, 1);  // a stack alone needs no line of its own before it
    return out + '\n';
}

}  // namespace kpl
