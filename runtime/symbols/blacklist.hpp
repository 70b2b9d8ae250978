// SPDX-License-Identifier: MIT
// The kernel's own list of code that no probe may stand in, from debugfs. kprobes check it themselves, ftrace does not.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "symbols/kallsyms.hpp"

namespace kpl {

struct BlacklistRange {
    uint64_t begin = 0, end = 0;  // end is behind the last byte
    std::string name;
};

class Blacklist {
  public:
    static constexpr const char* head = "kprobe_blacklist";  // of the kernel's own list: its symbol
    static constexpr const char* usual_path = "/sys/kernel/debug/kprobes/blacklist";

    // The error says how the list can be made readable.
    static Result<Blacklist> read(const std::string& path = usual_path);
    // The kernel's own list, whose head lies at `head`, without names; printing them takes the kernel 20 times as long.
    // nullopt: it does not read as it should, or it changes meanwhile.
    using ReadMemory = std::function<bool(uint64_t addr, std::span<uint8_t> into)>;
    static std::optional<Blacklist> walk(uint64_t head, const ReadMemory& read);
    static std::optional<Blacklist> of_kernel(Kallsyms& symbols);

    bool covers(uint64_t address) const;
    const std::vector<BlacklistRange>& ranges() const { return ranges_; }  // ascending by begin

  private:
    void sort();
    std::vector<BlacklistRange> ranges_;
    std::vector<uint64_t> reach_;  // of the ranges up to each: how far the farthest goes, for they may overlap
};

// The list, read when it is first needed: most scripts do without.
class BlacklistOnDemand {
  public:
    using Find = std::function<std::optional<Blacklist>()>;
    explicit BlacklistOnDemand(std::string path = Blacklist::usual_path) : path_(std::move(path)) {}
    // Asks `quick` first.
    explicit BlacklistOnDemand(Find quick) : path_(Blacklist::usual_path), quick_(std::move(quick)) {}
    const Blacklist* get() const;  // nullptr: it can't be read

  private:
    std::string path_;
    Find quick_;
    mutable bool tried_ = false;
    mutable std::optional<Blacklist> list_;
};

}  // namespace kpl
