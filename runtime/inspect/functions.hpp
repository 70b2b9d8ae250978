// SPDX-License-Identifier: MIT
// The functions of the kernel that can be probed.
#pragma once

#include <string>
#include <vector>

#include "arch/points.hpp"
#include "symbols/blacklist.hpp"
#include "symbols/kallsyms.hpp"

namespace kpl {

// "vfs_*" or "module:ext4_*": all that match and can be probed at their entry, ascending by name, modules
// behind the kernel itself. Left out: the blacklist, init code, and the parts and paddings of functions that
// a glob leaves out as a target. A plain name is a pattern that matches itself, or else the variants of it.
Result<std::vector<Symbol>> probeable_functions(Kallsyms& symbols, const std::string& pattern);

// Not functions of their own: paddings before functions, labels, and the unlikely parts of functions
// ("name.cold"), which are jumped to.
bool is_part_of_function(std::string_view name);

// "name.cold", "name.cold.1": what the compiler moved away from a function.
bool is_cold_part(std::string_view name);

// "name.isra.0", "name.constprop.0", "name.part.0": a function that the compiler made of another one. It may have
// other parameters, and BTF describes none of them.
bool is_variant(std::string_view name);
// The variants of a function, as find() finds functions.
Result<std::vector<Symbol>> variants_of(Kallsyms& symbols, const std::string& name, const std::string& module);

// The trampoline of a static call.
bool is_static_call(std::string_view name);

// Why no probe may stand in a function where the kernel lets it, and dies of it (uapi/places.def). Empty: it may, or
// the module decides. The module refuses these too.
std::string_view why_no_probe(std::string_view name);

// The module lets no breakpoint stand in it, but ftrace may serve a probe.
bool takes_ftrace_alone(std::string_view name);

// Why no return probe may stand on a function where the kernel lets it, and dies of it; empty: it may. The module
// refuses these too.
std::string_view why_no_return(std::string_view name);

// As a target names it: "vfs_read", "ext4:ext4_sync_fs".
std::string target_name(const Symbol& symbol);

// init code of vmlinux: listed in kallsyms, and freed after boot. Empty where it is not known where it lies.
AddressRange init_text(Kallsyms& symbols);

// Whether the blacklist forbids a probe at `addr`, in `function`: what the compiler made of a function shares its fate.
Result<bool> is_forbidden(Kallsyms& symbols, const Blacklist& blacklist, const Symbol& function, uint64_t addr);
// The ranges that forbid probes in `function`.
Result<std::vector<AddressRange>> forbidden_ranges(Kallsyms& symbols, const Blacklist& blacklist,
                                                   const Symbol& function, uint64_t size);

}  // namespace kpl
