// SPDX-License-Identifier: MIT
// The options of a session by name: those of the command line, of the environment and of the library are these rows.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "session/options.hpp"

namespace kpl {

struct OptionRow {
    using Member =
        std::variant<bool Options::*, Unsafe Options::*, uint32_t Options::*, std::optional<uint32_t> Options::*,
                     std::vector<std::string> Options::*, std::set<std::string> Options::*>;
    const char* name;   // as the library takes it
    const char* flags;  // on the command line
    const char* env;    // behind KPROBE_LUA_
    const char* value;  // what help calls it; " ": it takes none
    const char* help;
    Member member;
    uint32_t least = 0, most = UINT32_MAX;  // of numbers
    bool size = false;                      // "4M"; rounded up to a power of two

    bool is_flag() const {
        return std::holds_alternative<bool Options::*>(member) || std::holds_alternative<Unsafe Options::*>(member);
    }
    // Of numbers with a largest one: "1 to 50", "4K to 64M". Else empty.
    std::string range() const;
    // May be given again, and adds to what was given.
    bool is_list() const {
        return std::holds_alternative<std::vector<std::string> Options::*>(member) ||
               std::holds_alternative<std::set<std::string> Options::*>(member);
    }
};
std::span<const OptionRow> option_table();

// The error's text goes on from the option's name: "takes 4K to 64M, not '1K'".
Result<void> set_option(Options& options, const OptionRow& row, const std::string& value);
Result<void> set_option(Options& options, const std::string& name, const std::string& value);

}  // namespace kpl
