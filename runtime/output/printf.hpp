// SPDX-License-Identifier: MIT
// The text of a handler's printf and print, made in user space from the values that it sent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "output/datum.hpp"

namespace kpl {

// %d %i %u %x %X %o %c %s %p %% with flags, width and precision. Conversions take `values` in order; the
// compiler has checked that they fit.
std::string format_printf(std::string_view format, const std::vector<Datum>& values);

// print(): values joined by tabs, with a newline.
std::string format_print(const std::vector<Datum>& values);

}  // namespace kpl
