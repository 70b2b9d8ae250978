// SPDX-License-Identifier: MIT
// ElfView: an open ELF file of libelf's; what it gives out lives as long. It may change under the eyes of who reads it:
// it is read, not mapped. One of somebody else's may say anything: only as much of it as programs have. One that a
// process led to, or that lies below /proc, is always somebody else's: root in a container is user 0 here, too.
#pragma once

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
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
        const auto refused = [&](const char* why) { return Error{Errc::script, fmt::format("{} {}", path, why)}; };
        struct stat file {};
        const bool known = ::fstat(fd, &file) == 0 && !foreign && !below_proc(path);
        const bool own = known && (file.st_uid == 0 || file.st_uid == ::geteuid());
        const auto size = static_cast<uint64_t>(file.st_size);
        if (!own && size > most_file) return refused("is larger than 2 GB, and of another user or below /proc");
        ElfView view(lib, lib->elf_begin(fd, ELF_C_READ, nullptr));
        if (!view.elf_ || lib->elf_kind(view.elf_) != ELF_K_ELF)
            return refused("is no ELF file: neither a program nor a library");
        if (!own) view.most_data_ = most_data;
        if (const char* why = view.unfit(size, own)) return refused(why);
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
    // Of a process, or by way of one's root. What a name there leads to does not matter: it is not followed.
    static bool below_proc(const std::string& path) {
        return std::filesystem::absolute(path).lexically_normal().native().starts_with("/proc/");
    }
    static constexpr uint64_t most_file = 2ull << 30, most_data = 256 << 20;
    static constexpr size_t most_sections = 1 << 16;

    // Why it is not read; null: it is. libelf takes a table of strings whole, and a compressed one is as large as it
    // says.
    const char* unfit(uint64_t file_size, bool own) const {
        constexpr const char* damaged = "is damaged or cut off: its sections do not lie within it";
        GElf_Ehdr head;
        if (!lib_->gelf_getehdr(elf_, &head) || head.e_shoff == 0) return nullptr;
        size_t sections = 0;
        if (lib_->elf_getshdrnum(elf_, &sections) != 0 || sections == 0) return damaged;
        if (!own && sections > most_sections) return "has too many sections";
        uint64_t left = own ? UINT64_MAX : most_data;
        for (Elf_Scn* section = nullptr; (section = lib_->elf_nextscn(elf_, section));) {
            GElf_Shdr header;
            if (!lib_->gelf_getshdr(section, &header)) return damaged;
            // Separate debug files have the headers of all sections.
            if (header.sh_type == SHT_NULL || header.sh_type == SHT_NOBITS || header.sh_size == 0) continue;
            if (header.sh_offset > file_size || header.sh_size > file_size - header.sh_offset) return damaged;
            if (header.sh_type != SHT_STRTAB) continue;
            if (header.sh_flags & SHF_COMPRESSED) return "has compressed tables of strings, which no program has";
            if (header.sh_size > left)
                return "has tables of strings that are too large, and is of another user or below /proc";
            left -= header.sh_size;
        }
        return nullptr;
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
