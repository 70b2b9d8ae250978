// SPDX-License-Identifier: MIT
// Targets: "symbol", "symbol+0x1a", "module:symbol", addresses and globs, resolved to places in the kernel's text.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/rare.hpp"
#include "luahost/declarations.hpp"
#include "programs/program.hpp"
#include "symbols/blacklist.hpp"
#include "symbols/kallsyms.hpp"

namespace kpl {

// What few places have: thousands of functions do without.
struct SpecialPlace {
    std::string shown{};  // what people call it; empty: as the function
    uint64_t period = 0;  // these three: as struct kpl_attach has them; `address` may be a counter's number
    uint32_t event = 0;
    uint32_t len = 0;
    uint32_t returns = KPL_RETURNS_ANY;                    // if changes are allowed: what the function is marked for,
    std::string no_override{};                             // and why it can't be left out
    std::shared_ptr<const Program> program{};              // that it is in; then `address` is that in the file
    std::shared_ptr<const std::vector<MarkArg>> marked{};  // it is a mark, and this is passed there
    uint64_t semaphore = 0;                                // a mark's: in the file
    bool any_way = false;
    const SyscallWay* way = nullptr;  // of a system call, of whose implementation `function` is the name
};

struct KernelPlace {
    std::string function;      // the symbol's name
    Rare<std::string> module;  // empty: vmlinux
    uint64_t address = 0;      // of the instruction; 0 when addresses are not known (--check)
    uint64_t function_address = 0;
    uint64_t offset = 0;   // address - function_address
    bool by_glob = false;  // one of many: left out, and counted, where it can't be probed
    Rare<SpecialPlace> special{};
    bool shares_name = false;  // with others of this part of the kernel: its types may be another's

    // What p.func prints.
    const std::string& name() const { return special->shown.empty() ? function : special->shown; }
    std::string text() const;  // "module:function+0x1a", "group:tracepoint", "openat (32-bit)"
};

// Functions that globs match and that are not probed, by reason.
struct LeftOut {
    uint32_t parts = 0;     // no functions of their own: split off by the compiler, padding
    uint32_t variants = 0;  // made by the compiler: their parameters are not known, and a handler names some
    uint32_t freed = 0;     // start-up code, whose memory has other uses by now
    uint32_t repeated = 0;  // another name of a place that is probed already
    uint32_t blacklisted = 0;
    uint32_t untraceable = 0;  // where only ftrace will do: it has no site there
    uint32_t chosen = 0;       // of a program: which function it stands for is decided when one starts
    uint32_t refused = 0;      // by the kernel's kprobes, for reasons of their own

    uint32_t unwilling() const { return freed + blacklisted + untraceable + refused + variants + chosen; }
    std::string text() const;  // "2 blacklisted, 3 freed after boot"; empty when there are none
};

struct Resolved {
    std::vector<KernelPlace> places;
    LeftOut left_out;
    std::vector<Error> missing;  // targets of an optional probe that are nowhere
    std::vector<Error> notes;    // what was found in place of what was asked for
};

using Target = std::variant<std::string, uint64_t>;

// The functions that are asked for by name.
std::vector<std::string> plain_names(std::span<const Target> targets);

// Goes through a declaration's targets; `one` adds the places of each. Errors of the script are told together, or, of
// an optional probe, kept in `missing`.
Result<Resolved> resolve_each(const ProbeDecl& probe, const std::function<Result<void>(const Target&, Resolved&)>& one);

// All places of a declaration. The error has a line for each target that can't be resolved, with what is near to it.
// Where the blacklist can't be read, the kernel decides. Without `addresses`, names are taken as they
// are: for compiling where nothing will be attached.
Result<Resolved> resolve_targets(const ProbeDecl& probe, Kallsyms& symbols, const BlacklistOnDemand& blacklist,
                                 bool addresses);

}  // namespace kpl
