// SPDX-License-Identifier: MIT
// ElfView: an open ELF file of libelf's; what it gives out lives as long.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>

#include "programs/elf_libraries.hpp"

namespace kpl {

class ElfView {
  public:
    static Result<ElfView> open(int fd, const std::string& path) {
        const LibElf* lib = TRY(LibElf::load());
        ElfView view(lib, lib->elf_begin(fd, ELF_C_READ_MMAP, nullptr));
        if (!view.elf_ || lib->elf_kind(view.elf_) != ELF_K_ELF)
            return Error{Errc::script, fmt::format("{} is no ELF file: neither a program nor a library", path)};
        return view;
    }
    ElfView(ElfView&& other) noexcept : lib_(other.lib_), elf_(std::exchange(other.elf_, nullptr)) {}
    ElfView(const ElfView&) = delete;
    ElfView& operator=(const ElfView&) = delete;
    ~ElfView() {
        if (elf_) lib_->elf_end(elf_);
    }

    const LibElf& lib() const { return *lib_; }
    Elf* get() const { return elf_; }

    void each_section(const std::function<void(Elf_Scn*, const GElf_Shdr&)>& visit) const {
        for (Elf_Scn* section = nullptr; (section = lib_->elf_nextscn(elf_, section));) {
            GElf_Shdr header;
            if (lib_->gelf_getshdr(section, &header)) visit(section, header);
        }
    }

  private:
    ElfView(const LibElf* lib, Elf* elf) : lib_(lib), elf_(elf) {}
    const LibElf* lib_;
    Elf* elf_;
};

}  // namespace kpl
