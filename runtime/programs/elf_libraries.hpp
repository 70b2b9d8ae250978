// SPDX-License-Identifier: MIT
// libelf and libdw, loaded when a program is first looked into: most scripts ask for none.
#pragma once

#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>

#include "base/result.hpp"

namespace kpl {

struct LibElf {
#define KPL_ELF_FUNCTIONS(X) \
    X(elf_version) X(elf_begin) X(elf_end) X(elf_kind) X(elf_errno) X(elf_errmsg) KPL_ELF_PARTS(X)
#define KPL_ELF_PARTS(X) \
    X(elf_getphdrnum)    \
    X(elf_getshdrnum)    \
    X(elf_getshdrstrndx) \
    X(elf_getscn)        \
    X(elf_nextscn)       \
    X(elf_strptr) X(elf_getdata) X(gelf_getehdr) X(gelf_getphdr) X(gelf_getshdr) X(gelf_getsym) X(gelf_getnote)
#define X(name) decltype(&::name) name = nullptr;
    KPL_ELF_FUNCTIONS(X)
#undef X

    // The error says what to install.
    static Result<const LibElf*> load();
};

struct LibDw {
#define KPL_DW_FUNCTIONS(X) \
    X(dwarf_getcfi_elf)     \
    X(dwarf_cfi_end) X(dwarf_cfi_addrframe) X(dwarf_frame_info)
#define X(name) decltype(&::name) name = nullptr;
    KPL_DW_FUNCTIONS(X)
#undef X

    static Result<const LibDw*> load();
};

}  // namespace kpl
