// SPDX-License-Identifier: MIT
// Attach: how a planned probe gets into the kernel, and what the kernel's refusals mean.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "luahost/declarations.hpp"
#include "session/compile.hpp"
#include "session/report.hpp"
#include "symbols/blacklist.hpp"
#include "uapi/kprobe_lua.h"

namespace kpl {

// What the choice between ftrace and kprobes depends on, beside the declaration.
struct Paths {
    bool ftrace = false;          // the module has that path in this kernel
    BlacklistOnDemand blacklist;  // where it can't be read, kprobes, which know it, must decide
    bool direct = false;          // it has direct calls
};

// Whether direct calls are to be tried for its returns.
bool wants_direct(const ProbeDecl& probe, const Paths& paths);

// What of a declaration can't be had whatever the kernel says. `pid`: of -p, in the initial namespace.
Result<void> check_attachable(const ProbeDecl& probe, const std::vector<KernelPlace>& places, const Paths& paths,
                              std::optional<uint32_t> pid);
Error too_many_error(const ProbeDecl& probe, size_t places, size_t others, uint32_t limit);

// The request to attach `plan`. `programs`: by the number of their handler in the unit.
kpl_attach attach_request(const ProbeDecl& probe, const PlannedProbe& plan, const std::vector<ArmedProgram>& programs,
                          const Paths& paths, std::optional<uint32_t> pid);

// Whether the refusal says that this place can't be probed, not that something else went wrong.
bool is_about_place(const kpl_attach& request);

// Why the module or the kernel refused, in words that say what to do.
std::string attach_reason(const kpl_attach& request, const Paths& paths);

// "990 by ftrace, 10 by kprobe": how those without an error were attached.
std::string attached_text(std::span<const kpl_attach> requests);

// A line for each reason that return probes are kretprobes for: "kretprobe, not direct: printk and 3 more: it takes …".
std::vector<std::string> not_direct_text(std::span<const kpl_attach> requests, std::span<const PlannedProbe> planned);

}  // namespace kpl
