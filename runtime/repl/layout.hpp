// SPDX-License-Identifier: MIT
// Where text stands on a terminal, and what of it may go there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kpl {

// Of text that begins in the first column: as terminals, and libedit, put it.
struct Position {
    size_t row = 0, column = 0;
    void add(wchar_t c, size_t columns);
};

// Text without what would move the cursor or switch modes; colours (SGR sequences) stay. Newlines and tabs, too.
std::string harmless(std::string_view text);

// How many rows a line takes.
size_t rows_of(std::string_view line, size_t columns);

}  // namespace kpl
