// SPDX-License-Identifier: MIT
// What code a process has in its memory: the files, where, and whose memory it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kpl {

struct CodeMapping {
    uint64_t start = 0, end = 0;
    uint64_t offset = 0;  // in the file
    uint64_t device = 0;  // makedev(); with the inode, 0: no file
    uint64_t inode = 0;
    std::string path;  // in the process's own root; "[vdso]", or empty
};

// A program that a process runs, or ran: ascending, disjoint.
class MemoryMap {
  public:
    uint64_t space = 0;  // kpl_space(); 0: only the page is known
    uint64_t page = 0;   // where its code begins
    std::vector<CodeMapping> mappings;

    const CodeMapping* at(uint64_t address) const;
    // In the place of what was there: true if something was. No more than most programs have: others' are left out.
    bool add(CodeMapping mapping);
    size_t bytes() const { return sizeof *this + bytes_; }  // that it takes

  private:
    bool has_room(const CodeMapping& mapping) const;
    size_t bytes_ = 0;  // of the mappings
};

// The mappings of /proc/PID/maps that are code.
std::vector<CodeMapping> parse_maps(std::string_view text);

// Of a process that runs. Nothing: there is none, or it may not be looked at.
std::optional<uint64_t> space_of(uint32_t pid);
std::optional<MemoryMap> map_of(uint32_t pid);

std::string read_file(const std::string& path, size_t limit);

}  // namespace kpl
