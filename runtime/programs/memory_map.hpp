// SPDX-License-Identifier: MIT
// What code a process has in its memory: the files, where, and whose memory it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "programs/foreign_files.hpp"

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

// Of a process that runs. No map, though there is an answer: there is none, or it may not be looked at.
struct MapLook {
    ForeignFiles::What what = ForeignFiles::What::Nothing;
    std::optional<MemoryMap> map{};
};
MapLook map_of(ForeignFiles& files, uint32_t pid);

// Addresses that a process's map lacks. It is read again for them, for the same one ever more seldom.
class Lacking {
  public:
    using Clock = std::chrono::steady_clock;
    Lacking() = default;
    explicit Lacking(Clock::time_point looked_at) : looked_at_(looked_at) {}
    bool wants_look(uint64_t address, Clock::time_point now) const;
    // It was read: because of `address`, which it may have now as others.
    void looked(uint64_t address, const MemoryMap& map, Clock::time_point now);

  private:
    std::optional<Clock::time_point> looked_at_;
    std::unordered_map<uint64_t, unsigned> in_vain_;  // addresses, and how often
};

std::string read_file(const std::string& path, size_t limit);

}  // namespace kpl
