// SPDX-License-Identifier: MIT
#include "repl/layout.hpp"

#include <wchar.h>

#include <algorithm>

namespace kpl {
namespace {

// The length of an SGR sequence at the beginning of `text`; 0: there is none.
size_t color_sequence(std::string_view text) {
    if (!text.starts_with("\033[")) return 0;
    const size_t end = text.find_first_not_of("0123456789;:", 2);
    return end != text.npos && text[end] == 'm' ? end + 1 : 0;
}

}  // namespace

void Position::add(wchar_t c, size_t columns) {
    if (c == L'\n') {
        row++;
        column = 0;
        return;
    }
    const int measured = ::wcwidth(c);
    const size_t width = c == L'\t' ? 8 - column % 8 : measured >= 0 ? static_cast<size_t>(measured) : 2;  // ^X
    if (c != L'\t' && width > 1 && column + width > columns) row++, column = 0;
    column += width;
    while (column >= columns) row++, column -= columns;
}

std::string harmless(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size(); i++) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (const size_t color = c == 0x1b ? color_sequence(text.substr(i)) : 0) {
            out.append(text.substr(i, color));
            i += color - 1;
        } else if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
            out += '?';  // a control character of eight bits
            i++;
        } else if ((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t') {
            out += text[i];
        } else if (c != '\r') {
            out += '?';
        }
    }
    return out;
}

size_t rows_of(std::string_view line, size_t columns) {
    size_t width = 0;
    for (size_t i = 0; i < line.size(); i++) {
        if (const size_t color = color_sequence(line.substr(i)))
            i += color - 1;
        else if ((static_cast<unsigned char>(line[i]) & 0xc0) != 0x80)
            width += line[i] == '\t' ? 8 - width % 8 : 1;
    }
    return std::max<size_t>(1, (width + columns - 1) / std::max<size_t>(columns, 1));
}

}  // namespace kpl
