// SPDX-License-Identifier: MIT
// What scripts declare probes by: one row for each kind.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "uapi/kprobe_lua.h"

namespace kpl {

enum class ProbeKind {
    Kprobe,
    Kretprobe,
    Jprobe,
    Tracepoint,
    Syscall,
    Profile,
    Interval,
    Perf,
    Watch,
    Uprobe,
    Uretprobe,
    Usdt,
#ifdef KPL_TEST_ROWS
    Test,
#endif
};

// What a target names, and so who finds the places and knows what is passed there.
enum class Source { Function, Tracepoint, Syscall, Rate, Period, Counter, Data, Program, Mark };

// In the order of Source: how scripts write a target.
inline constexpr const char* target_forms[] = {
    R"("symbol", "symbol+0x1a", "module:symbol", an address, a glob)",
    R"("group:name", "name", a glob)",
    R"("name", a glob)",
    "a number of times in a second",
    "a number of seconds",
    R"("page-faults" or another counter's name)",
    R"("symbol", "symbol+0x1a", "module:symbol", an address)",
    R"("program:symbol", "library:symbol+0x1a", "/path:0x401136", a glob)",
    R"("program:provider:name", "library:provider:*", a glob)",
};

constexpr size_t most_handlers = 3;

struct ProbeHandler {
    const char* option = nullptr;  // null: the kind has no such handler
    kpl_prog_kind program = KPL_PROG_KINDS;
};

struct ProbeKindRow {
    const char* name;  // of the function that declares it
    Source source;
    kpl_probe_kind placed;                 // the module's kind; ftrace may do the same
    ProbeHandler handlers[most_handlers];  // [0] on the first side, [1] on the second
    size_t plain = 0;                      // the handler of NAME(target, fn)
    const char* second_side = "";          // what its counters count
    bool follows_calls = false;            // from entry to return, with or without handlers at both; they share p.data
    bool mirrors = false;                  // handlers take the function's own parameters, without `p`
    bool inside = false;                   // may stand behind a function's first instruction
    bool by_ftrace = false;                // ftrace may serve it at an entry
    bool by_direct = false;                // direct calls of a stub may serve it
};

// In the order of ProbeKind.
inline constexpr ProbeKindRow probe_kinds[] = {
    {.name = "kprobe",
     .source = Source::Function,
     .placed = KPL_PROBE_KPROBE,
     .handlers = {{"pre", KPL_PROG_PRE}, {"post", KPL_PROG_POST}, {"fault", KPL_PROG_FAULT}},
     .second_side = "post",
     .inside = true,
     .by_ftrace = true},
    {.name = "kretprobe",
     .source = Source::Function,
     .placed = KPL_PROBE_KRETPROBE,
     .handlers = {{"entry", KPL_PROG_ENTRY}, {"ret", KPL_PROG_RET}, {}},
     .plain = 1,
     .second_side = "returns",
     .follows_calls = true,
     .by_direct = true},
    {.name = "jprobe",
     .source = Source::Function,
     .placed = KPL_PROBE_KPROBE,
     .handlers = {{"handler", KPL_PROG_PRE}, {}, {}},
     .mirrors = true,
     .by_ftrace = true},
    {.name = "tracepoint",
     .source = Source::Tracepoint,
     .placed = KPL_PROBE_TRACEPOINT,
     .handlers = {{"handler", KPL_PROG_TRACEPOINT}, {}, {}}},
    {.name = "syscall",
     .source = Source::Syscall,
     .placed = KPL_PROBE_KRETPROBE,
     .handlers = {{"entry", KPL_PROG_ENTRY}, {"ret", KPL_PROG_RET}, {}},
     .second_side = "returns",
     .follows_calls = true,
     .by_direct = true},
    {.name = "profile",
     .source = Source::Rate,
     .placed = KPL_PROBE_EVENT,
     .handlers = {{"handler", KPL_PROG_PRE}, {}, {}},
     .inside = true},
    {.name = "interval",
     .source = Source::Period,
     .placed = KPL_PROBE_EVENT,
     .handlers = {{"handler", KPL_PROG_PRE}, {}, {}},
     .inside = true},
    {.name = "perf",
     .source = Source::Counter,
     .placed = KPL_PROBE_EVENT,
     .handlers = {{"handler", KPL_PROG_PRE}, {}, {}},
     .inside = true},
    {.name = "watch",
     .source = Source::Data,
     .placed = KPL_PROBE_WATCH,
     .handlers = {{"handler", KPL_PROG_WATCH}, {}, {}},
     .inside = true},
    {.name = "uprobe",
     .source = Source::Program,
     .placed = KPL_PROBE_UPROBE,
     .handlers = {{"handler", KPL_PROG_PRE}, {}, {}},
     .inside = true},
    {.name = "uretprobe",
     .source = Source::Program,
     .placed = KPL_PROBE_URETPROBE,
     .handlers = {{"entry", KPL_PROG_ENTRY}, {"ret", KPL_PROG_RET}, {}},
     .plain = 1,
     .second_side = "returns",
     .follows_calls = true},
    {.name = "usdt",
     .source = Source::Mark,
     .placed = KPL_PROBE_UPROBE,
     .handlers = {{"handler", KPL_PROG_PRE}, {}, {}}},
#ifdef KPL_TEST_ROWS
    {.name = "test_probe",
     .source = Source::Function,
     .placed = KPL_PROBE_TEST,
     .handlers = {{"handler", KPL_PROG_PRE}, {}, {}}},
#endif
};

constexpr const ProbeKindRow& probe_kind(ProbeKind kind) { return probe_kinds[static_cast<size_t>(kind)]; }

// Null: no function of that name declares probes.
constexpr const ProbeKindRow* find_probe_kind(std::string_view name) {
    const auto* found = std::find_if(std::begin(probe_kinds), std::end(probe_kinds),
                                     [name](const ProbeKindRow& kind) { return kind.name == name; });
    return found == std::end(probe_kinds) ? nullptr : found;
}

// The handler of that option; "": the one that is given as an argument. Null: there is none.
constexpr const ProbeHandler* find_handler(const ProbeKindRow& kind, std::string_view option) {
    if (option.empty()) return &kind.handlers[kind.plain];
    for (const ProbeHandler& handler : kind.handlers)
        if (handler.option && handler.option == option) return &handler;
    return nullptr;
}

}  // namespace kpl
