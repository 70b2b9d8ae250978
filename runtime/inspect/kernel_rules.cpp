// SPDX-License-Identifier: MIT
#include "inspect/kernel_rules.hpp"

#include <sys/utsname.h>

#include <cstdio>
#include <string>
#include <utility>

namespace kpl {

std::string kernel_release() {
    utsname name{};
    ::uname(&name);
    return name.release;
}

Result<KernelRules> kernel_rules(Kallsyms& symbols, std::string_view release) {
    std::pair<int, int> version{};
    std::sscanf(std::string(release).c_str(), "%d.%d", &version.first, &version.second);
    KernelRules rules;
    rules.optprobes = TRY(symbols.address("optprobe_template_entry")) != 0;
    rules.preemption = TRY(symbols.address("preempt_schedule")) != 0;
    // Kernels before 6.6 look at every indirect jump, and for that know where the retpolines lie. Later ones
    // do not look where the compiler was told to make no jump tables.
    rules.thunks = {TRY(symbols.address("__indirect_thunk_start")), TRY(symbols.address("__indirect_thunk_end"))};
    const bool no_tables = TRY(symbols.address("__x86_indirect_thunk_rax")) || TRY(symbols.address("ibt_save"));
    rules.has_tables = !no_tables;
    rules.jump_tables = rules.thunks.end || rules.has_tables;
    rules.refuses_traps = version >= std::pair{6, 9};
    rules.boosts_groups = version >= std::pair{6, 10};
    return rules;
}

}  // namespace kpl
