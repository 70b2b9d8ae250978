// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace kpl {

// A shell pattern over all of `text`: * any run, ? any character, [a-z] one of a set, [!a-z] one of none,
// \ quotes the next character. A '[' without its ']' stands for itself.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace kpl
