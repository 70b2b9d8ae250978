// SPDX-License-Identifier: MIT
// ElfView: an open ELF file of libelf's; what it gives out lives as long. It may change under the eyes of who reads it:
// it is read, not mapped. One of somebody else's may say anything: only as much of it as programs have. One that a
// process led to is always somebody else's: root in a container is user 0 here, too.
#pragma once

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "programs/elf_libraries.hpp"

namespace kpl {

class ElfView {
  public:
    // `foreign`: somebody else's, whoever owns it.
    static Result<ElfView> open(int fd, const std::string& path, bool foreign) {
        const LibElf* lib = TRY(LibElf::load());
        struct stat file {};
        const bool own = ::fstat(fd, &file) == 0 && !foreign && (file.st_uid == 0 || file.st_uid == ::geteuid());
        if (!own && static_cast<uint64_t>(file.st_size) > most_file)
            return Error{Errc::script, fmt::format("{} is larger than 2 GB, and of another user", path)};
        ElfView view(lib, lib->elf_begin(fd, ELF_C_READ, nullptr));
        size_t sections = 0;
        if (!own && view.elf_ && (lib->elf_getshdrnum(view.elf_, &sections) != 0 || sections > most_sections))
            return Error{Errc::script, fmt::format("{} has too many sections", path)};
        if (!own) view.most_data_ = most_data;
        if (!own && view.elf_ && !view.texts_fit())
            return Error{
                Errc::script,
                fmt::format("{} has tables of strings that are compressed or too large, and is of another user", path)};
        if (!view.elf_ || lib->elf_kind(view.elf_) != ELF_K_ELF)
            return Error{Errc::script, fmt::format("{} is no ELF file: neither a program nor a library", path)};
        return view;
    }
    ElfView(ElfView&& other) noexcept
        : lib_(other.lib_), elf_(std::exchange(other.elf_, nullptr)), most_data_(other.most_data_) {}
    ElfView(const ElfView&) = delete;
    ElfView& operator=(const ElfView&) = delete;
    ~ElfView() {
        if (elf_) lib_->elf_end(elf_);
    }

    const LibElf& lib() const { return *lib_; }
    Elf* get() const { return elf_; }

    // 0: there is no such section, or too much in it.
    size_t size_of(size_t section) const { return size_of(lib_->elf_getscn(elf_, section)); }
    // Null: likewise, or with what was given before.
    Elf_Data* data(Elf_Scn* section) const {
        const size_t size = size_of(section);
        if (!size) return nullptr;
        most_data_ -= size;
        return lib_->elf_getdata(section, nullptr);
    }

    // In one of the tables of strings; null: not there.
    const char* text(size_t section, size_t at) const { return lib_->elf_strptr(elf_, section, at); }
    std::string_view name(const GElf_Shdr& header) const {
        size_t names = 0;
        const char* name = lib_->elf_getshdrstrndx(elf_, &names) == 0 ? text(names, header.sh_name) : nullptr;
        return name ? name : "";
    }

    void each_section(const std::function<void(Elf_Scn*, const GElf_Shdr&)>& visit) const {
        for (Elf_Scn* section = nullptr; (section = lib_->elf_nextscn(elf_, section));) {
            GElf_Shdr header;
            if (lib_->gelf_getshdr(section, &header)) visit(section, header);
        }
    }

  private:
    static constexpr uint64_t most_file = 2ull << 30, most_data = 256 << 20;
    static constexpr size_t most_sections = 1 << 16;

    // libelf takes each of them whole, and a compressed one is as large as it says.
    bool texts_fit() const {
        uint64_t left = most_data;
        bool fit = true;
        each_section([&](Elf_Scn*, const GElf_Shdr& header) {
            if (header.sh_type != SHT_STRTAB) return;
            fit = fit && !(header.sh_flags & SHF_COMPRESSED) && header.sh_size <= left;
            left -= fit ? header.sh_size : 0;
        });
        return fit;
    }
    size_t size_of(Elf_Scn* section) const {
        GElf_Shdr header;
        return lib_->gelf_getshdr(section, &header) && header.sh_size <= most_data_ ? header.sh_size : 0;
    }
    ElfView(const LibElf* lib, Elf* elf) : lib_(lib), elf_(elf) {}
    const LibElf* lib_;
    Elf* elf_;
    mutable uint64_t most_data_ = UINT64_MAX;  // bytes, of all that is still to be read
};

}  // namespace kpl
