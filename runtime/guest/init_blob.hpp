// SPDX-License-Identifier: MIT
// The compiled init.c, as it stands in this library: the VM needs no file beside it.
#pragma once

#include <string_view>

namespace kpl {

std::string_view guest_init_program();

}  // namespace kpl
