// SPDX-License-Identifier: MIT
#include "symbols/kernel_memory.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/read_at.hpp"

namespace kpl {
namespace {

template <class T>
bool read_one(int fd, uint64_t offset, T& into) {
    return read_at(fd, offset, std::span(reinterpret_cast<uint8_t*>(&into), sizeof(T)));
}

Error refused(const std::string& path, int error) {
    if (error == ENOENT) return {Errc::system, path + ": this kernel was built without CONFIG_PROC_KCORE"};
    if (error == EPERM && ::geteuid() == 0)
        return {Errc::system, path + ": the kernel is locked down, or CAP_SYS_RAWIO is missing; see kprobe-lua doctor"};
    if (error == EACCES || error == EPERM)
        return {Errc::system, path + ": only root may read the kernel's text: sudo kprobe-lua …"};
    return {Errc::system, fmt::format("{}: {}", path, std::strerror(error))};
}

}  // namespace

Result<KernelMemory> KernelMemory::open(const std::string& path) {
    KernelMemory memory;
    memory.fd_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!memory.fd_) return refused(path, errno);
    Elf64_Ehdr header{};
    const Error not_elf{Errc::system, path + ": not a core file of a 64-bit kernel"};
    if (!read_one(memory.fd_.get(), 0, header)) return not_elf;
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return not_elf;
    if (header.e_phentsize != sizeof(Elf64_Phdr)) return not_elf;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment{};
        if (!read_one(memory.fd_.get(), header.e_phoff + i * sizeof segment, segment)) return not_elf;
        if (segment.p_type == PT_LOAD) memory.segments_.push_back({segment.p_vaddr, segment.p_memsz, segment.p_offset});
        if (segment.p_type == PT_NOTE) memory.read_notes(segment.p_offset, segment.p_filesz);
    }
    return memory;
}

// A note is a header, its name and its contents, each padded to 4 bytes (elf(5)).
void KernelMemory::read_notes(uint64_t offset, uint64_t size) {
    constexpr uint64_t most = 1 << 20;
    std::string notes(std::min(size, most), 0);
    if (!read_at(fd_.get(), offset, std::span(reinterpret_cast<uint8_t*>(notes.data()), notes.size()))) return;
    auto padded = [](uint64_t n) { return (n + 3) & ~uint64_t{3}; };
    for (uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
        Elf64_Nhdr note{};
        std::memcpy(&note, notes.data() + at, sizeof note);
        const uint64_t name = at + sizeof note, text = name + padded(note.n_namesz);
        at = text + padded(note.n_descsz);
        if (at > notes.size()) return;
        if (notes.compare(name, sizeof "VMCOREINFO", "VMCOREINFO", sizeof "VMCOREINFO") == 0)
            vmcoreinfo_ = notes.substr(text, note.n_descsz);
    }
}

bool KernelMemory::read(uint64_t addr, std::span<uint8_t> into) const {
    for (const Segment& segment : segments_)
        if (addr >= segment.addr && into.size() <= segment.size && addr - segment.addr <= segment.size - into.size())
            return read_at(fd_.get(), segment.offset + (addr - segment.addr), into);
    return false;
}

}  // namespace kpl
