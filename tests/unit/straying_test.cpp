// SPDX-License-Identifier: MIT
// Which cases of a VM are run again because its emulator strayed (tests/vm/straying.hpp).
#include "straying.hpp"

#include <catch2/catch.hpp>

using namespace kpl;

TEST_CASE("a case runs again where an emulator that strays is all that its console shows") {
    const std::string lockup =
        "[    9.0] watchdog: BUG: soft lockup - CPU#1 stuck for 134s! [sh:71]\n"
        "[    9.0] Modules linked in: kpl_target(O) kprobe_lua(O) [last unloaded: kpl_target(O)]\n"
        "[    9.0] RIP: 0010:smp_call_function_many_cond+0x12c/0x2b0\n"
        "[    9.0] Call Trace:\n"
        "[    9.0]  on_each_cpu_cond_mask+0x1b/0x30\n";
    const std::string stall =
        "[    9.0] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n[    9.0] Call Trace:\n[    9.0]  f+0x1/0x2\n";
    const std::string old_breakpoint =
        "[    9.0] int3: 0000 [#1] PREEMPT SMP NOPTI\n[    9.0] RIP: 0010:vfs_read+0x1/0x2e0\n[    9.0] Call Trace:\n"
        "[    9.0]  ksys_read+0x6f/0xf0\n[    9.0] Kernel panic - not syncing: Fatal exception\n";
    const std::string breakpoint = "[    9.0] Oops: " + old_breakpoint.substr(std::string("[    9.0] ").size());
    const std::string ours = "[    9.0]  kpl_hit+0x12/0x34 [kprobe_lua]\n";
    struct Row {
        const char* what;
        std::string said;
        bool strayed;
    };
    const Row rows[] = {
        {"nothing", "", false},
        {"a soft lockup", lockup, true},
        {"a stall", stall, true},
        {"a stall that the CPU sees itself", "[    9.0] rcu: INFO: rcu_preempt self-detected stall on CPU\n", true},
        {"an expedited one", "[    9.0] rcu: INFO: rcu_sched detected expedited stalls on CPUs/tasks: {\n", true},
        {"a breakpoint that is gone", breakpoint, true},
        {"the same on 6.1", old_breakpoint, true},
        {"two of them", lockup + stall, true},
        {"a lockup in our module", lockup + ours, false},
        {"a breakpoint in our stubs",
         "[    9.0] int3: 0000 [#1] SMP\n[    9.0] RIP: 0010:kpl_stub_3+0x1/0x2 [kprobe_lua_stubs]\n", false},
        {"KASAN behind it", lockup + "[    9.1] BUG: KASAN: slab-use-after-free in f\n", false},
        {"KASAN before it", "[    8.9] BUG: KASAN: slab-use-after-free in f\n" + lockup, false},
        {"lockdep", lockup + "[    9.1] WARNING: possible circular locking dependency detected\n", false},
        {"an oops", lockup + "[    9.1] BUG: kernel NULL pointer dereference, address: 0000000000000008\n", false},
        {"another panic", lockup + "[    9.1] Kernel panic - not syncing: NMI: Not continuing\n", false},
        {"a trace before it", "[    8.9] Call Trace:\n" + lockup, false},
        {"a warning alone", "[    9.1] WARNING: CPU: 0 PID: 7 at f.c:1\n", false},
    };
    for (const Row& row : rows) DYNAMIC_SECTION(row.what) {
            Console console;
            console.append("[    8.0] kpl-case: here\n" + row.said);
            CHECK(strayed_cases(console).contains("here") == row.strayed);
        }
}

TEST_CASE("what is said of one case is not said of another") {
    Console console;
    console.append(
        "[    1.0] watchdog: BUG: soft lockup - CPU#0 stuck for 22s!\n"
        "[    2.0] kpl-case: quiet\n"
        "[    3.0] kpl-case: strays\n[    3.1] watchdog: BUG: soft lockup - CPU#1 stuck for 22s!\n"
        "[    4.0] kpl-case: warns\n[    4.1] WARNING: CPU: 0 PID: 7 at f.c:1\n");
    CHECK(case_of_each(console.lines()) ==
          std::vector<std::string>{no_case, "quiet", "strays", "strays", "warns", "warns"});
    CHECK(strayed_cases(console) == std::map<std::string, std::string>{
                                        {"strays", "[    3.1] watchdog: BUG: soft lockup - CPU#1 stuck for 22s!"}});
}
