// SPDX-License-Identifier: MIT
// What a kernel was built with: from its configuration, or by what it shows where that can't be had.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kpl {

// One option that matters here.
struct ConfigRow {
    std::string_view name;      // without CONFIG_
    bool needed;                // nothing works without; else something is missing or slower
    std::string_view evidence;  // a symbol, or a file's path, that is there when the option is set
    std::string_view without;   // what is lost
};
std::span<const ConfigRow> config_rows();

class KernelConfig {
  public:
    // `root` stands before every path.
    static KernelConfig read(const std::string& release, const std::string& root = {});

    // The file; empty: none was found, and what the kernel shows decides.
    const std::string& source() const { return source_; }
    // nullopt: nobody says.
    std::optional<bool> has(const ConfigRow& row) const;

  private:
    std::string root_, source_;
    std::map<std::string, char, std::less<>> values_;  // 'y' or 'm'
    mutable std::optional<std::string> symbols_;       // /proc/kallsyms, when first needed
};

}  // namespace kpl
