// SPDX-License-Identifier: MIT
#include "guest/cpio.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <iterator>

namespace kpl {

void CpioTree::add(const std::string& path, Entry entry) {
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
        entries_.try_emplace(path.substr(0, slash), Entry{S_IFDIR | 0755, {}});
    entries_[path] = std::move(entry);
}

void CpioTree::add_dir(const std::string& path, std::uint32_t mode) { add(path, {S_IFDIR | mode, {}}); }

void CpioTree::add_file(const std::string& path, std::string bytes, std::uint32_t mode) {
    add(path, {S_IFREG | mode, std::move(bytes)});
}

void CpioTree::add_link(const std::string& path, std::string target) { add(path, {S_IFLNK | 0777, std::move(target)}); }

void CpioTree::add_char_device(const std::string& path, unsigned major, unsigned minor, std::uint32_t mode) {
    add(path, {S_IFCHR | mode, {}, major, minor});
}

std::pair<std::size_t, std::size_t> CpioTree::size() const {
    std::pair<std::size_t, std::size_t> sum{0, 0};
    for (const auto& [path, entry] : entries_)
        if (S_ISREG(entry.mode)) sum.first++, sum.second += entry.bytes.size();
    return sum;
}

// A header is the magic and 13 fields of 8 hexadecimal digits; name and contents are each padded to 4 bytes.
void CpioTree::append(std::string& archive, std::uint32_t inode, std::string_view name, const Entry& entry) {
    const auto pad = [&archive] { archive.append((4 - archive.size() % 4) % 4, '\0'); };
    const unsigned links = S_ISDIR(entry.mode) ? 2 : 1;
    fmt::format_to(std::back_inserter(archive),
                   "070701{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}", inode,
                   entry.mode, 0 /*uid*/, 0 /*gid*/, links, 0 /*mtime*/, entry.bytes.size(), 0, 0, entry.major,
                   entry.minor, name.size() + 1, 0 /*check*/);
    archive.append(name).push_back('\0');
    pad();
    archive.append(entry.bytes);
    pad();
}

std::string CpioTree::serialize() const {
    std::string archive;
    std::size_t size = 512;
    for (const auto& [path, entry] : entries_) size += entry.bytes.size() + path.size() + 128;
    archive.reserve(size);
    std::uint32_t inode = 1;
    for (const auto& [path, entry] : entries_) append(archive, inode++, std::string_view(path).substr(1), entry);
    append(archive, 0, "TRAILER!!!", {0, {}});
    return archive;
}

}  // namespace kpl
