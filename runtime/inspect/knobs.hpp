// SPDX-License-Identifier: MIT
// The switches of the system that decide whether and how probes are hit.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace kpl {

struct KnobValue {
    enum class Effect { Fine, Slower, Hides, Silences };
    std::string_view value;
    Effect effect;
    std::string_view meaning;  // "ftrace is switched off: probes on functions are not hit"
};

struct Knob {
    std::string_view name, path;
    std::span<const KnobValue> values;  // the usual one first; empty: a number
    std::string_view meaning;           // of a number
    unsigned most = 0;                  // of a number
    bool for_good = false;              // what was set can't be taken back before the next boot

    // Nothing: the value is none of those known.
    const KnobValue* find(std::string_view value) const;
    // What sets it without this program.
    std::string command(std::string_view value) const;
};

std::span<const Knob> knobs();
const Knob* find_knob(std::string_view name);

// `root` stands before the path. Nothing: this kernel has no such switch, or it may not be read.
std::optional<std::string> read_knob(const Knob& knob, const std::string& root = {});
Result<void> set_knob(const Knob& knob, const std::string& value);

// A line for each switch that now keeps probes of the whole system from being hit: what it does, and what ends it.
std::string silencing_knobs();

std::string print_knobs();
std::string print_knob(const Knob& knob);
std::string json_knobs();
std::string json_knob(const Knob& knob);

}  // namespace kpl
