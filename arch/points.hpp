// SPDX-License-Identifier: MIT
// Where probes may stand in a function, and what the kernel makes of them there: the rules of kprobes,
// applied to a function's code and to what the kernel's tables say about it. Nothing is asked of the running
// kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kpl {

enum class Why : uint8_t {
    none,
#define WHY(name, text) name,
#include "arch/points.def"
#undef WHY
};

std::string_view name_of(Why why);  // "jump_into", for programs; "" for none

// Yes, or why not.
struct Verdict {
    Why why = Why::none;
    uint64_t at = 0;  // the instruction that is to blame, where the text names one

    bool yes() const { return why == Why::none; }
    bool operator==(const Verdict&) const = default;
};

// For people; `function` is what places are relative to.
std::string text_of(const Verdict& verdict, uint64_t function);

struct AddressRange {
    uint64_t begin = 0, end = 0;  // [begin, end)

    bool has(uint64_t addr) const { return addr >= begin && addr < end; }
};

// How this kernel was built, as far as kprobes' decisions depend on it.
struct KernelRules {
    bool optprobes = true;      // CONFIG_OPTPROBES
    bool preemption = true;     // CONFIG_PREEMPTION: what can be boosted is not
    bool jump_tables = false;   // an indirect jump is believed to lead anywhere in its function
    bool has_tables = false;    // and the compiler may have made tables for such jumps
    AddressRange thunks;        // a jump to one of these is indirect, too; empty: such jumps are not looked at
    bool boosts_groups = true;  // since 6.10 shifts, and what opcodes f6, f7, fe and ff hold but calls
    bool refuses_traps = true;  // since 6.9 int and ud, wherever they are
};

// Where a static key leads when it is switched.
struct KeyJump {
    uint64_t target = 0, label = 0;

    bool operator<(const KeyJump& other) const { return target < other.target; }
};

struct FunctionFacts {
    uint64_t addr = 0;
    uint64_t size = 0;              // to the next symbol, as kallsyms has it
    std::span<const uint8_t> code;  // without other probes' marks; some bytes behind `size` if there are any
    KernelRules rules;
    bool traceable = true;                // ftrace has a site at its entry if the code looks so
    bool traced = false;                  // that site may hold a call in place of its nop
    std::vector<uint64_t> more_sites;     // of ftrace, behind the entry: of functions that lost their symbol
    std::vector<AddressRange> blacklist;  // also what the kernel frees or has no text for
    AddressRange init_text, entry_text;
    std::vector<uint64_t> fixups;  // addresses with an exception-table entry
    std::vector<uint64_t> jump_labels, static_calls, bugs;
    std::vector<KeyJump> key_jumps;    // that lead into the function
    std::vector<uint64_t> part_jumps;  // to where parts of it jump that the compiler moved away
    bool is_part = false;              // it is such a part
    bool ftrace_alone = false;         // the module lets no breakpoint stand in it
    bool read_over = false;            // nothing is mapped behind it, where the kernel would read
    std::vector<uint64_t> probes;      // that are armed
};

struct ProbePoint {
    uint64_t addr = 0;
    uint8_t length = 0;
    std::optional<uint64_t> moved;  // a probe set here stands there: behind the landing pad of the entry
    bool ftrace = false;            // a probe here hangs on ftrace, without a breakpoint
    Verdict probe, boost, optimize;
};

struct Arch;

// Every instruction of the function, in order.
std::vector<ProbePoint> analyse(const Arch& arch, const FunctionFacts& facts);

}  // namespace kpl
