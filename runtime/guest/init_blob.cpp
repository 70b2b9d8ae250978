// SPDX-License-Identifier: MIT
#include "guest/init_blob.hpp"

// KPL_INIT_PROGRAM is the path of the program that CMake built from init.c.
asm(".section .rodata\n"
    ".balign 8\n"
    "kpl_init_start: .incbin \"" KPL_INIT_PROGRAM
    "\"\n"
    "kpl_init_end:\n"
    ".previous\n");

extern "C" const char kpl_init_start[], kpl_init_end[];

namespace kpl {

std::string_view guest_init_program() {
    return {kpl_init_start, static_cast<std::size_t>(kpl_init_end - kpl_init_start)};
}

}  // namespace kpl
