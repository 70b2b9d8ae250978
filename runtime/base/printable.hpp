// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace kpl {

// Text that somebody else chose, for a terminal: control characters, those of eight bits too, but these are '?'; and so
// is half of one at the end, whatever comes behind it.
inline std::string printable(std::string text, std::string_view but = {}) {
    size_t size = 0;
    for (size_t i = 0; i < text.size(); i++) {
        const auto c = static_cast<unsigned char>(text[i]), next = static_cast<unsigned char>(text[i + 1]);
        const bool wide = c == 0xc2 && (i + 1 == text.size() || (next >= 0x80 && next < 0xa0));
        const bool control = wide || (c < ' ' && but.find(text[i]) == but.npos) || c == 0x7f;
        text[size++] = control ? '?' : text[i];
        i += wide;
    }
    text.resize(size);
    return text;
}

}  // namespace kpl
