// SPDX-License-Identifier: MIT
// What the kernel's files say, by their lines.
#include <sys/utsname.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "inspect/debugfs.hpp"
#include "inspect/functions.hpp"
#include "inspect/kernel_rules.hpp"
#include "inspect/kernel_tables.hpp"
#include "inspect/modules.hpp"
#include "inspect/print_lists.hpp"
#include "inspect/system_probes.hpp"
#include "symbols/kernel_memory.hpp"
#include "temp_dir.hpp"

using namespace kpl;
using namespace kpl::test;

TEST_CASE("a line of the list of probes") {
    const auto plain = parse_probe_line("ffffffffa414d3d9  k  vfs_write+0x9    [OPTIMIZED]");
    REQUIRE(plain);
    CHECK(plain->addr == 0xffffffffa414d3d9);
    CHECK_FALSE(plain->is_return);
    CHECK(plain->place == "vfs_write+0x9");
    CHECK(plain->module.empty());
    CHECK(plain->optimized);
    CHECK_FALSE(plain->disabled);
    const auto module = parse_probe_line("ffffffffc0414010  r  ext4_sync_fs+0x0  ext4  [DISABLED][FTRACE]");
    REQUIRE(module);
    CHECK(module->is_return);
    CHECK(module->module == "ext4");
    CHECK(module->disabled);
    CHECK(module->ftrace);
    CHECK_FALSE(module->optimized);
    const auto gone = parse_probe_line("ffffffffc0414010  k  ext4_sync_fs+0x0   [GONE]");
    REQUIRE(gone);
    CHECK(gone->gone);
    CHECK_FALSE(parse_probe_line(""));
    CHECK_FALSE(parse_probe_line("ffffffffc0414010  x  a"));
    CHECK_FALSE(parse_probe_line("nothing k a"));
}

TEST_CASE("a line of the traced functions") {
    const auto one = parse_traced_line(
        "vfs_read (1) R I     M \ttramp: 0xffffffffc04c3000 (kprobe_ftrace_handler+0x0/0x1b0) "
        "->kprobe_ftrace_handler+0x0/0x1b0");
    REQUIRE(one);
    CHECK(one->name == "vfs_read");
    CHECK(one->users == 1);
    CHECK(one->callback == "kprobe_ftrace_handler");
    CHECK(one->callback_module.empty());
    const auto module = parse_traced_line(
        "ext4_sync_fs [ext4] (1)   \ttramp: 0xffffffffc0331000 (kpl_hit+0x0/0x1b0 [kprobe_lua]) "
        "->kpl_hit+0x0/0x1b0 [kprobe_lua]");
    REQUIRE(module);
    CHECK(module->module == "ext4");
    CHECK(module->callback == "kpl_hit");
    CHECK(module->callback_module == "kprobe_lua");
    const auto two = parse_traced_line("vfs_read (2) R     \t->arch_ftrace_ops_list_func+0x0/0x1e0");
    REQUIRE(two);
    CHECK(two->users == 2);
    CHECK(two->callback.empty());
    CHECK_FALSE(parse_traced_line("vfs_read"));
}

TEST_CASE("functions that are called directly") {
    TempDir directory;
    directory.write(
        "enabled_functions",
        "vfs_read (1) R   D   \n\tdirect-->kpl_stub_3+0x0/0xb0 [kprobe_lua_stubs]\n"
        "vfs_write (2) R   D   \t->arch_ftrace_ops_list_func+0x0/0x1e0\n\tdirect-->bpf_trampoline_642+0x0/0x1000\n"
        "vfs_open (1)   \t->kpl_hit+0x0/0x1b0 [kprobe_lua]\n");
    const auto traced = read_traced(directory.path());
    REQUIRE(traced);
    REQUIRE(traced->size() == 3);
    CHECK((*traced)[0].direct == "kpl_stub_3");
    CHECK((*traced)[0].direct_module == "kprobe_lua_stubs");
    CHECK((*traced)[1].users == 2);
    CHECK((*traced)[1].direct == "bpf_trampoline_642");
    CHECK((*traced)[2].direct.empty());

    directory.write("calls", "87\tdo_wait\tsh\n87\nx\ty\tz\n\n88\tkpl_t_sleep [kpl_target]\ta b\n");
    const auto calls = calls_under_way(directory.path() + "/calls");
    REQUIRE(calls.size() == 2);
    CHECK(calls[1].pid == 88);
    CHECK(calls[1].function == "kpl_target:kpl_t_sleep");
    CHECK(calls[1].comm == "a b");
    CHECK(print_calls(calls).find("    do_wait (87 sh)\n") != std::string::npos);
    CHECK(print_calls({}).empty());
    CHECK(calls_under_way("/nonexistent").empty());
}

TEST_CASE("sites of ftrace, and those of functions without a symbol") {
    TempDir directory;
    directory.write("available_filter_functions",
                    "__ftrace_invalid_address___4\nvfs_read\n__ftrace_invalid_address___864\n__ftrace_invalid_"
                    "address___900\n"
                    "vfs_write\next4_sync_fs [ext4]\n__ftrace_invalid_address___16 [ext4]\n");
    const FtraceSites sites = read_ftrace_sites(directory.path());
    CHECK(sites.functions == std::set<std::string>{":vfs_read", ":vfs_write", "ext4:ext4_sync_fs"});
    CHECK(sites.nameless ==
          std::map<std::string, std::vector<uint64_t>>{{":vfs_read", {864, 900}}, {"ext4:ext4_sync_fs", {16}}});
    CHECK(read_ftrace_sites("/nonexistent").functions.empty());
}

TEST_CASE("what is not there has a remedy") {
    const auto list = read_probe_list("/nonexistent");
    REQUIRE_FALSE(list);
    CHECK(list.error().text.starts_with("/nonexistent/list: "));
    CHECK(list.error().text.find(::geteuid() == 0 ? "mount -t debugfs debugfs /sys/kernel/debug" : "sudo kprobe-lua") !=
          std::string::npos);
    CHECK_FALSE(probes_enabled("/nonexistent"));
}

TEST_CASE("kernel memory from a file that is none") {
    TempDir directory;
    directory.write("kcore", "no ELF");
    const auto memory = KernelMemory::open(directory.path() + "/kcore");
    REQUIRE_FALSE(memory);
    CHECK(memory.error().text == directory.path() + "/kcore: not a core file of a 64-bit kernel");
    const auto none = KernelMemory::open(directory.path() + "/none");
    REQUIRE_FALSE(none);
    CHECK(none.error().text.ends_with("this kernel was built without CONFIG_PROC_KCORE"));
}

TEST_CASE("the kernel's rules, by its symbols and release") {
    TempDir directory;
    const std::string head = "ffffffff81000000 T _stext\nffffffff81000010 t vfs_read\n";
    const auto rules = [&](const std::string& symbols, const char* release) {
        directory.write("kallsyms", head + symbols);
        Kallsyms kallsyms(directory.path() + "/kallsyms");
        auto found = kernel_rules(kallsyms, release);
        REQUIRE(found);
        return *found;
    };
    const auto old = rules(
        "ffffffff81000020 T __x86_indirect_thunk_rax\nffffffff81000020 T "
        "__indirect_thunk_start\nffffffff81000100 T __indirect_thunk_end\n",
        "6.1.0-56-cloud-amd64");
    CHECK(old.jump_tables);
    CHECK_FALSE(old.has_tables);
    CHECK(old.thunks.begin == 0xffffffff81000020);
    CHECK(old.thunks.end == 0xffffffff81000100);
    CHECK_FALSE(old.boosts_groups);
    CHECK_FALSE(old.refuses_traps);
    CHECK_FALSE(old.optprobes);
    CHECK_FALSE(old.preemption);
    const auto now = rules(
        "ffffffff81000020 T __x86_indirect_thunk_rax\nffffffff81000200 D "
        "optprobe_template_entry\nffffffff81000200 T preempt_schedule\n",
        "6.12.117+deb12-cloud-amd64");
    CHECK_FALSE(now.jump_tables);
    CHECK(now.boosts_groups);
    CHECK(now.refuses_traps);
    CHECK(now.optprobes);
    CHECK(now.preemption);
    CHECK(rules("", "6.9.1").jump_tables);
    CHECK(rules("", "6.9.1").has_tables);
    CHECK_FALSE(rules("ffffffff81000020 T ibt_save\n", "6.9.1").jump_tables);
    CHECK(rules("", "6.9.1").refuses_traps);
    CHECK_FALSE(rules("", "6.9.1").boosts_groups);
}

TEST_CASE("forbidden parts of functions") {
    TempDir directory;
    directory.write("kallsyms",
                    "ffffffff81000000 T _stext\nffffffff81000010 t secret\nffffffff81000100 t "
                    "secret.cold\nffffffff81000200 t plain\n");
    directory.write("blacklist", "0xffffffff81000010-0xffffffff81000040\tsecret\n");
    Kallsyms symbols(directory.path() + "/kallsyms");
    const auto blacklist = Blacklist::read(directory.path() + "/blacklist");
    REQUIRE(blacklist);
    const auto ranges = [&](const char* name, uint64_t addr) {
        auto found = forbidden_ranges(symbols, *blacklist, {name, {}, addr, 't'}, 0x20);
        REQUIRE(found);
        return *found;
    };
    REQUIRE(ranges("secret", 0xffffffff81000010).size() == 1);
    // A part that was split off shares the fate of its function.
    REQUIRE(ranges("secret.cold", 0xffffffff81000100).size() == 1);
    CHECK(ranges("secret.cold", 0xffffffff81000100)[0].has(0xffffffff8100011f));
    CHECK(ranges("plain", 0xffffffff81000200).empty());
    // ... as does what was made of it, which is a function all the same.
    CHECK(*is_forbidden(symbols, *blacklist, {"secret.isra.0", {}, 0xffffffff81000300, 't'}, 0xffffffff81000300));
    CHECK_FALSE(*is_forbidden(symbols, *blacklist, {"plain.isra.0", {}, 0xffffffff81000300, 't'}, 0xffffffff81000300));
}

TEST_CASE("modules: loaded, built in, or neither") {
    TempDir directory;
    utsname kernel{};
    uname(&kernel);
    for (const char* name : {"/sys/module/loaded_one", "/sys/module/with_parameters"})
        std::filesystem::create_directories(directory.path() + name);
    std::filesystem::create_directories(directory.path() + "/lib/modules/" + kernel.release);
    directory.write("sys/module/loaded_one/initstate", "live\n");
    directory.write(std::string("lib/modules/") + kernel.release + "/modules.builtin",
                    "kernel/fs/ext4/ext4.ko\nkernel/a/two-words.ko\n");
    CHECK(is_loaded("loaded_one", directory.path()));
    CHECK_FALSE(is_built_in("loaded_one", directory.path()));
    for (const char* name : {"with_parameters", "ext4", "two_words"}) {
        INFO(name);
        CHECK_FALSE(is_loaded(name, directory.path()));
        CHECK(is_built_in(name, directory.path()));
    }
    CHECK_FALSE(is_built_in("ext", directory.path()));
    CHECK_FALSE(is_built_in("xfs", directory.path()));
}

TEST_CASE("variants of functions") {
    for (const char* name : {"f.isra.0", "f.constprop.0", "f.part.0.isra.1", "f.coldest.0"}) {
        INFO(name);
        CHECK(is_variant(name));
        CHECK_FALSE(is_part_of_function(name));
    }
    for (const char* name : {"f.cold", "f.isra.0.cold", "f.cold.12", ".E_copy", "__pfx_f.isra.0"}) {
        INFO(name);
        CHECK_FALSE(is_variant(name));
        CHECK(is_part_of_function(name));
    }
    CHECK_FALSE(is_variant("f"));
    TempDir directory;
    directory.write("kallsyms",
                    "ffffffff81000010 t f.isra.0\nffffffff81000100 t f.isra.0.cold\nffffffff81000200 t ff.part.0\n"
                    "ffffffffc0000000 t f.part.0\t[m]\nffffffffc0000100 t g.part.0\t[m]\n");
    Kallsyms symbols(directory.path() + "/kallsyms");
    const auto names = [&](const char* name, const char* module) {
        std::string all;
        const auto found = variants_of(symbols, name, module);
        REQUIRE(found);
        for (const Symbol& symbol : *found) all += target_name(symbol) + " ";
        return all;
    };
    CHECK(names("f", "") == "f.isra.0 ");  // the kernel's own before those of modules
    CHECK(names("f", "m") == "m:f.part.0 ");
    CHECK(names("g", "") == "m:g.part.0 ");
    CHECK(names("h", "").empty());
}

TEST_CASE("the end of a module's text") {
    TempDir directory;
    directory.write("m/sections/.text", "0xffffffffc0001000\n");
    directory.write("m/sections/.exit.text", "0xffffffffc0001800\n");
    directory.write("m/sections/.rodata", "0xffffffffc0003000\n");
    const auto end = [&](uint64_t addr, uint64_t used_to) {
        return module_text_end(
            "m", addr, [&](uint64_t page) { return page < used_to; }, directory.path());
    };
    // One area for all: the text ends where the read-only data begin.
    CHECK(end(0xffffffffc0001234, 0xffffffffc0009000) == 0xffffffffc0003000);
    // An area of its own, which a page of nothing follows.
    CHECK(end(0xffffffffc0001800, 0xffffffffc0002000) == 0xffffffffc0002000);
    // The last area of all.
    CHECK(end(0xffffffffc0003000, 0xffffffffc0009000) == 0xffffffffc0004000);
}

TEST_CASE("lists as text") {
    SystemProbe probe;
    probe.addr = 0xffffffff81000010;
    probe.kind = "kprobe";
    probe.place = "vfs_read+0x9";
    probe.state = "optimized";
    probe.owner = "ext4";
    probe.missed = 3;
    CHECK(print_probes({probe}) ==
          "ADDRESS           KIND       STATE      MISSED  PLACE         OWNER\n"
          "ffffffff81000010  kprobe     optimized       3  vfs_read+0x9  ext4\n");
    CHECK(json_probes({probe}) ==
          "{\"type\":\"probe\",\"data\":{\"address\":\"0xffffffff81000010\",\"kind\":\"kprobe\",\"place\":"
          "\"vfs_read+0x9\",\"state\":\"optimized\","
          "\"owner\":\"ext4\",\"pids\":[],\"missed\":3}}\n");
    CHECK(print_functions({{"a", "", 1, 't'}, {"a", "", 2, 't'}, {"b", "m", 3, 't'}}, nullptr) == "a\nm:b\n");
    CHECK(print_blacklist({{0x10, 0x30, "secret"}}) == "0000000000000010      32  secret\n");
}
