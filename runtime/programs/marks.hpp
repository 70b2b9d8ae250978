// SPDX-License-Identifier: MIT
// Marks (USDT): places in a program that its authors have named for tracers, with what they pass there. SystemTap's
// <sys/sdt.h> makes them, and others do as it does: a `nop`, and a note of the section .note.stapsdt.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arch/mark_args.hpp"
#include "base/result.hpp"

namespace kpl {

// One place; several may have one name. Addresses are those of the file.
struct ProgramMark {
    std::string provider, name;
    std::vector<MarkArg> args{};
    uint64_t address = 0;
    uint64_t file_offset = 0;
    // In the file: of 16 bits that the program looks at before it prepares what it passes, and that count who wants it;
    // 0: it has none.
    uint64_t semaphore = 0;

    std::string text() const { return provider + ":" + name; }
};

// For Program: as the notes have them, of which `semaphore` is still an address. A file without any has none.
Result<std::vector<ProgramMark>> read_marks(int fd, const std::string& path, bool foreign);

}  // namespace kpl
