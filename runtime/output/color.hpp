// SPDX-License-Identifier: MIT
// Colours of messages on stderr; data has none.
#pragma once

#include <string>

namespace kpl {

enum class Color { Auto, Always, Never };

// Auto: on a terminal that has colours, unless NO_COLOR is set (no-color.org).
bool uses_color(Color wanted, int fd);

// A message whose first word tells what it is ("warning:", "note:") has that word coloured.
std::string painted(const std::string& message);
// The first line of what ended a run: what follows is detail.
std::string painted_error(const std::string& message);

}  // namespace kpl
