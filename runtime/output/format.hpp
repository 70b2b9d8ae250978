// SPDX-License-Identifier: MIT
// Format: how a script's data is written (-f). Each has one file, and a row in formats.def.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "output/render.hpp"

namespace kpl {

// An element of a map(): its key's and its value's fields.
using Entry = std::pair<std::vector<Datum>, std::vector<Datum>>;

// A probe that was disabled for what its handlers took of a CPU.
struct OverloadLine {
    std::string probe;
    uint32_t cpu, percent, share;
    uint64_t hits;
};

// Each function gives whole lines, or nothing where the format has no word for it.
class Format {
  public:
    virtual ~Format() = default;

    // What printf and print have made.
    virtual std::string printed(std::string_view text) const { return std::string(text); }
    virtual std::string attached([[maybe_unused]] size_t probes) const { return {}; }
    // How the command of -c ended, as $? has it, if not well. People are told of this and the next two on stderr as
    // well.
    virtual std::string command([[maybe_unused]] int status) const { return {}; }
    virtual std::string lost([[maybe_unused]] uint64_t events) const { return {}; }
    // Bytes of a CPU's ring from now on; 0: it can't grow.
    virtual std::string ring_grown([[maybe_unused]] uint32_t cpu, [[maybe_unused]] uint32_t bytes) const { return {}; }
    virtual std::string overload(const OverloadLine&) const { return {}; }
    // An aggregation as the run's end shows it; rows by weight, smallest first.
    virtual std::string map(const MapDecl& map, const std::vector<KeyedValue>& rows) const = 0;
    // print(m) shows an aggregation as tostring(m) does, not as map() here.
    virtual bool as_tostring() const { return false; }
    // A map() as print(m) shows it. Nothing: as tostring(m) does.
    virtual std::optional<std::string> entries(const MapDecl&, const std::vector<Entry>&) const { return {}; }
    // Lists of what can be probed are JSON lines, too.
    virtual bool lists_are_json() const { return false; }
};

struct FormatRow {
    const char* name;  // as -f takes it
    const Format& format;
};

// The first is the one without -f.
std::span<const FormatRow> formats();
// nullptr: there is none of that name.
const Format* format_named(std::string_view name);

}  // namespace kpl
