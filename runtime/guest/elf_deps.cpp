// SPDX-License-Identifier: MIT
#include "guest/elf_deps.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/process.hpp"
#include "base/unique_fd.hpp"
#include "guest/system_error.hpp"

namespace kpl {
namespace {

// Of libraries, which name none themselves; and the only one that is run here: a file may name any program.
constexpr const char* default_loader = "/lib64/ld-linux-x86-64.so.2";

template <class T>
std::optional<T> read_at(int fd, std::uint64_t offset) {
    T value;
    if (offset > INT64_MAX || pread(fd, &value, sizeof(value), static_cast<off_t>(offset)) != sizeof(value))
        return std::nullopt;
    return value;
}

struct ElfHead {
    std::string interpreter;
    bool dynamic = false;
};

// Program headers only: PT_INTERP and PT_DYNAMIC. Nothing when the file is cut short or for another machine.
std::optional<ElfHead> read_elf(int fd) {
    const auto header = read_at<Elf64_Ehdr>(fd, 0);
    if (!header || header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64) return std::nullopt;
    if (header->e_phnum > 0 && header->e_phentsize != sizeof(Elf64_Phdr)) return std::nullopt;
    ElfHead head;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const auto segment = read_at<Elf64_Phdr>(fd, header->e_phoff + i * sizeof(Elf64_Phdr));
        if (!segment) return std::nullopt;
        if (segment->p_type == PT_DYNAMIC) head.dynamic = true;
        if (segment->p_type != PT_INTERP || segment->p_filesz == 0 || segment->p_filesz > 4096) continue;
        head.interpreter.resize(segment->p_filesz);
        const ssize_t n =
            pread(fd, head.interpreter.data(), head.interpreter.size(), static_cast<off_t>(segment->p_offset));
        if (n != static_cast<ssize_t>(segment->p_filesz)) return std::nullopt;
        head.interpreter.resize(std::strlen(head.interpreter.c_str()));
    }
    return head;
}

// A line is "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…)", "\t/lib64/ld-linux… (0x…)" or, for what
// the kernel maps itself, "\tlinux-vdso.so.1 (0x…)".
std::optional<std::string> library_in(std::string_view line) {
    if (const auto arrow = line.find("=> "); arrow != std::string_view::npos)
        line.remove_prefix(arrow + 3);
    else
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with('/')) return std::nullopt;
    return std::string(line.substr(0, line.find(" (0x")));
}

Result<std::vector<std::string>> libraries_of(const std::string& path, const std::string& loader) {
    std::vector<std::string> libraries{loader};
    if (loader != default_loader) return libraries;
    const ProgramOutput listing = TRY(program_output({loader, "--list", path}));
    for (std::string_view rest = listing.text; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (line.find("not found") != std::string_view::npos)
            return Error{Errc::system, fmt::format("{}: a shared library is missing:{}", path, line)};
        if (auto library = library_in(line)) libraries.push_back(std::move(*library));
    }
    if (!listing.succeeded) return Error{Errc::system, fmt::format("{}: {} can't list its libraries", path, loader)};
    return libraries;
}

std::string interpreter_of_script(std::string_view head) {
    head.remove_prefix(2);
    head.remove_prefix(std::min(head.find_first_not_of(" \t"), head.size()));
    return std::string(head.substr(0, head.find_first_of(" \t\r\n")));
}

}  // namespace

Result<ProgramNeeds> program_needs(const std::string& path) {
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return system_error(path, errno);
    char bytes[256];
    const ssize_t n = pread(fd.get(), bytes, sizeof(bytes), 0);
    const std::string_view head(bytes, n > 0 ? static_cast<std::size_t>(n) : 0);
    ProgramNeeds needs;
    if (head.starts_with("#!")) {
        needs.interpreter = interpreter_of_script(head);
    } else if (head.starts_with(ELFMAG)) {
        const auto elf = read_elf(fd.get());
        if (!elf) return needs;
        needs.is_elf = true;
        needs.interpreter = elf->interpreter;
        if (elf->dynamic)
            needs.libraries = TRY(libraries_of(path, elf->interpreter.empty() ? default_loader : elf->interpreter));
    }
    return needs;
}

constexpr std::uint64_t worth_cutting = 1 << 20;

std::string loaded_part(std::string elf) {
    Elf64_Ehdr header;
    if (!elf.starts_with(ELFMAG) || elf.size() < sizeof(header)) return elf;
    std::memcpy(&header, elf.data(), sizeof(header));
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phnum == 0) return elf;
    std::uint64_t end = sizeof(header);
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        const std::uint64_t at = header.e_phoff + i * sizeof(segment);
        if (at > elf.size() || elf.size() - at < sizeof(segment)) return elf;
        std::memcpy(&segment, elf.data() + at, sizeof(segment));
        end = std::max({end, at + sizeof(segment), segment.p_offset + segment.p_filesz});
    }
    if (end >= elf.size() || elf.size() - end < worth_cutting) return elf;
    header.e_shoff = header.e_shnum = header.e_shstrndx = 0;  // the section table is cut off too
    std::memcpy(elf.data(), &header, sizeof(header));
    elf.resize(end);
    return elf;
}

}  // namespace kpl
