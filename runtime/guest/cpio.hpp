// SPDX-License-Identifier: MIT
// A tree of files in memory, written as a "newc" cpio archive: the format of Linux's initramfs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace kpl {

// Paths are absolute and normalised. A later entry for a path replaces the earlier one; parent directories
// come by themselves, with mode 0755.
class CpioTree {
  public:
    void add_dir(const std::string& path, std::uint32_t mode = 0755);
    void add_file(const std::string& path, std::string bytes, std::uint32_t mode = 0644);
    void add_link(const std::string& path, std::string target);
    void add_char_device(const std::string& path, unsigned major, unsigned minor, std::uint32_t mode);

    bool contains(const std::string& path) const { return entries_.contains(path); }
    // Regular files and the bytes in them.
    std::pair<std::size_t, std::size_t> size() const;

    // The archive, with its trailer. Entries come in path order, so a directory precedes what is in it.
    std::string serialize() const;

  private:
    struct Entry {
        std::uint32_t mode = 0;  // with the file type bits
        std::string bytes;       // contents, or a link's target
        unsigned major = 0, minor = 0;
    };
    void add(const std::string& path, Entry entry);
    static void append(std::string& archive, std::uint32_t inode, std::string_view name, const Entry& entry);

    std::map<std::string, Entry> entries_;
};

}  // namespace kpl
