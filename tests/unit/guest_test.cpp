// SPDX-License-Identifier: MIT
// What of the throwaway VM can be tested without booting one; tests/vm boots them.
#include "guest/guest.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/process.hpp"
#include "guest/console.hpp"
#include "guest/cpio.hpp"
#include "guest/elf_deps.hpp"
#include "guest/image.hpp"
#include "guest/kernel_modules.hpp"
#include "guest/kernels.hpp"
#include "temp_dir.hpp"

namespace fs = std::filesystem;
using namespace kpl;
using namespace kpl::test;

TEST_CASE("modules come with what they need, in the order of loading") {
    TempDir dir;
    dir.write("6.1-x/modules.dep",
              "kernel/fs/top-one.ko: kernel/fs/mid.ko kernel/lib/base.ko\nkernel/fs/mid.ko: kernel/lib/base.ko\n"
              "kernel/lib/base.ko:\nkernel/net/packed.ko.xz:\n");
    dir.write("6.1-x/kernel/fs/mid.ko", "m");
    dir.write("own.ko", "o");
    const auto files = [&](const std::string& name) {
        const auto found = module_files(name, "6.1-x", dir.path());
        std::string all;
        if (!found) return found.error().text;
        for (const std::string& file : *found) all += file.substr(dir.path().size()) + " ";
        return all;
    };
    CHECK(files("top_one.ko") == "/6.1-x/kernel/lib/base.ko /6.1-x/kernel/fs/mid.ko /6.1-x/kernel/fs/top-one.ko ");
    CHECK(files("packed.ko") == "/6.1-x/kernel/net/packed.ko.xz ");
    CHECK(files(dir / "6.1-x/kernel/fs/mid.ko") == "/6.1-x/kernel/lib/base.ko /6.1-x/kernel/fs/mid.ko ");
    CHECK(files(dir / "own.ko") == "/own.ko ");
    CHECK(files("none.ko") == "none.ko: no such file, and no such module of 6.1-x");
    CHECK(names_module("a.ko"));
    CHECK(names_module("a.ko.xz"));
    CHECK_FALSE(names_module("a.kov"));
    CHECK(module_bytes(dir / "own.ko").value() == "o");
}

TEST_CASE("directories that a path leads through and back are there") {
    TempDir dir;
    dir.write("sub/nothing", "");
    dir.write("s.lua", "here");
    GuestImage image = GuestImage::create().value();
    REQUIRE(image.add_host(dir / "sub/../s.lua"));
    const std::string archive = image.serialize();
    CHECK(archive.find((dir / "s.lua").substr(1)) != archive.npos);
    CHECK(archive.find((dir / "sub").substr(1) + '\0') != archive.npos);
}

TEST_CASE("which kernels a wanted version names") {
    struct Row {
        const char *release, *wanted;
        bool matches;
    };
    const Row rows[] = {
        {"6.1.0-56-cloud-amd64", "", true},
        {"6.1.0-56-rt-amd64", "", false},
        {"6.1.0-56-cloud-amd64", "6.1", true},
        {"6.1.0-56-amd64", "6.1", true},
        {"6.12.117+deb12-cloud-amd64", "6.1", false},
        {"6.12.117+deb12-cloud-amd64", "6.12", true},
        {"6.12.117+deb12-cloud-amd64", "6.12.117", true},
        {"6.12.117+deb12-cloud-amd64", "6.12.11", false},
        {"6.12.117+deb12-cloud-amd64", "6", true},
        {"6.1.0-56-rt-amd64", "6.1", false},
        {"6.1.0-56-rt-amd64", "6.1-rt", true},
        {"6.12.117+deb12-rt-amd64", "6.1-rt", false},
        {"6.12.117+deb12-rt-amd64", "6.12-rt", true},
        {"6.1.0-56-cloud-amd64", "6.1-rt", false},
        {"6.1.0-56-rt-amd64", "6.1.0-56-rt-amd64", true},
        {"6.1.0-56-cloud-amd64", "6.1-cloud", true},
        {"6.1.0-56-amd64", "6.1-cloud", false},
        {"6.1.0-5-cloud-amd64", "6.1.0-56-cloud-amd64", false},
        {"6.1-custom", "6.1", true},
        {"16.1.0", "6.1", false},
    };
    for (const Row& row : rows) DYNAMIC_SECTION(row.release << " for '" << row.wanted << "'") {
            CHECK(kernel_matches(row.release, row.wanted) == row.matches);
        }
}

TEST_CASE("releases are ordered by their numbers") {
    const char* ascending[] = {"5.10.0-9-amd64",    "6.1.0-9-cloud-amd64",      "6.1.0-56-cloud-amd64",
                               "6.1.0-056-z-amd64", "6.12.9+deb12-cloud-amd64", "6.12.117+deb12-cloud-amd64"};
    for (std::size_t i = 0; i < std::size(ascending); i++)
        for (std::size_t j = 0; j < std::size(ascending); j++)
            DYNAMIC_SECTION(ascending[i] << " before " << ascending[j]) {
                CHECK(kernel_older(ascending[i], ascending[j]) == (i < j));
            }
}

TEST_CASE("picking a kernel") {
    const TempDir boot, modules;
    for (const char* release : {"6.1.0-9-cloud-amd64", "6.1.0-56-cloud-amd64", "6.12.1-cloud-amd64", "6.12.1-rt-amd64"})
        boot.write(std::string("vmlinuz-") + release, "kernel");
    modules.write("6.1.0-9-cloud-amd64/kprobe_lua.ko", "module");
    const auto pick = [&](const char* wanted, const std::string& dir) { return pick_kernel(wanted, dir, boot.path()); };

    SECTION("the newest that matches, when no module is asked for") {
        CHECK(pick("", "")->release == "6.12.1-cloud-amd64");
        CHECK(pick("6.1", "")->release == "6.1.0-56-cloud-amd64");
        CHECK(pick("6.12-rt", "")->release == "6.12.1-rt-amd64");
        CHECK(pick("", "")->image == boot / "vmlinuz-6.12.1-cloud-amd64");
        CHECK(pick("", "")->module.empty());
    }
    SECTION("the newest that has a module") {
        CHECK(pick("", modules.path())->release == "6.1.0-9-cloud-amd64");
        CHECK(pick("6.1", modules.path())->module == modules / "6.1.0-9-cloud-amd64/kprobe_lua.ko");
    }
    SECTION("a module that was installed") {
        modules.write("6.12.1-cloud-amd64/extra/kprobe_lua.ko", "module");
        CHECK(pick("", modules.path())->module == modules / "6.12.1-cloud-amd64/extra/kprobe_lua.ko");
    }
    SECTION("no module") {
        const auto picked = pick("6.12", modules.path());
        REQUIRE_FALSE(picked.ok());
        CHECK_THAT(picked.error().text,
                   Catch::StartsWith("no module for kernel 6.12.1-cloud-amd64") &&
                       Catch::Contains("apt-get install linux-headers-6.12.1-cloud-amd64, then make"));
    }
    SECTION("no such kernel") {
        const auto picked = pick("6.6", "");
        REQUIRE_FALSE(picked.ok());
        CHECK_THAT(picked.error().text, Catch::StartsWith("no kernel 6.6 in " + boot.path()) &&
                                            Catch::Contains("6.12.1-cloud-amd64") &&
                                            Catch::Contains("apt-get install"));
        CHECK_THAT(pick("6.1-rt", "").error().text, Catch::Contains("apt-get install linux-image-rt-amd64"));
    }
    SECTION("a kernel that may not be read") {
        if (geteuid() == 0) return;  // root reads everything
        boot.write("vmlinuz-7.0", "", fs::perms::none);
        CHECK_THAT(pick("7.0", "").error().text, Catch::StartsWith("can't read " + boot / "vmlinuz-7.0"));
    }
}

TEST_CASE("an archive is what cpio reads") {
    CpioTree tree;
    tree.add_file("/a/b/file", "contents", 0640);
    tree.add_file("/a/b/empty", "", 0600);
    tree.add_link("/link", "a/b/file");
    tree.add_dir("/tmp", 01777);
    tree.add_file("/a/b/file", "replaced", 0755);
    const std::string archive = tree.serialize();

    CHECK(archive.size() % 4 == 0);
    CHECK(archive.starts_with("070701"));
    CHECK(archive.find("TRAILER!!!") != std::string::npos);
    const TempDir dir;
    dir.write("archive", archive);
    const auto unpacked =
        program_output({"/bin/busybox", "sh", "-c",
                        "mkdir " + dir / "out" + " && cd " + dir / "out" + " && busybox cpio -idm <../archive"});
    REQUIRE(unpacked.ok());
    REQUIRE(unpacked->succeeded);
    std::ostringstream text;
    text << std::ifstream(dir / "out/link").rdbuf();
    CHECK(text.str() == "replaced");
    CHECK(fs::read_symlink(dir / "out/link") == "a/b/file");
    CHECK(fs::file_size(dir / "out/a/b/empty") == 0);
    struct stat st;
    REQUIRE(stat((dir / "out/tmp").c_str(), &st) == 0);
    CHECK((st.st_mode & 07777) == 01777);
    REQUIRE(stat((dir / "out/a/b/file").c_str(), &st) == 0);
    CHECK((st.st_mode & 07777) == 0755);
}

TEST_CASE("console lines that report trouble") {
    struct Row {
        const char* line;
        bool splat;
    };
    const Row rows[] = {
        {"[    1.5] WARNING: CPU: 0 PID: 7 at kernel/kprobes.c:42 f+0x1/0x2", true},
        {"[    1.5][    T7] WARNING: CPU: 0 PID: 7 at f.c:1", true},
        {"[    1.5] BUG: kernel NULL pointer dereference, address: 0000000000000008", true},
        {"[    1.5] Oops: 0000 [#1] PREEMPT SMP NOPTI", true},
        {"[    1.5] kernel BUG at mm/slub.c:400!", true},
        {"[    1.5] Kernel panic - not syncing: Fatal exception", true},
        {"[    1.5] watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [sh:1]", true},
        {"[    1.5] rcu: INFO: rcu_preempt self-detected stall on CPU", true},
        {"[    1.5] rcu: INFO: rcu_sched detected stalls on CPUs/tasks:", true},
        {"[    1.5] INFO: task sh:1 blocked for more than 120 seconds.", true},
        {"[    1.5] UBSAN: array-index-out-of-bounds in a.c:1:2", true},
        {"[    1.5] general protection fault, probably for non-canonical address", true},
        {"[    1.5] divide error: 0000 [#1] PREEMPT SMP", true},
        {"[    1.5] refcount_t: underflow; use-after-free.", true},
        {"[    1.5] list_del corruption. prev->next should be", true},
        {"[    1.5] Call Trace:", true},
        {"[    0.1] Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on", false},
        {"[    0.1] mtrr: your CPUs had inconsistent MTRRdefType settings", false},
        {"[    0.1] kprobe_lua: loading out-of-tree module taints kernel.", false},
        {"", false},
    };
    for (const Row& row : rows) DYNAMIC_SECTION("'" << row.line << "'") {
            CHECK(is_splat(row.line) == row.splat);
        }
}

TEST_CASE("a console is collected in pieces") {
    Console console;
    console.append("[    0.1] fine\r\n[    0.2] WARN");
    CHECK(console.clean());
    console.append("ING: CPU: 0 PID: 1 at a.c:1\r\n[    0.3] more\r\n[    0.4] par");
    REQUIRE(console.splats().size() == 1);
    CHECK(console.splats()[0] == "WARNING: CPU: 0 PID: 1 at a.c:1");
    CHECK(console.lines().size() == 4);
    CHECK(console.excerpt() == "  [    0.2] WARNING: CPU: 0 PID: 1 at a.c:1\n  [    0.3] more\n  [    0.4] par\n");
    CHECK(console.excerpt(1) == "  [    0.2] WARNING: CPU: 0 PID: 1 at a.c:1\n");
}

TEST_CASE("the trace of an OOM kill is no splat, the next one is") {
    Console console;
    console.append("[    0.1] sh invoked oom-killer: order=0\n[    0.1] CPU: 0\n[    0.1] Call Trace:\n");
    CHECK(console.clean());
    console.append("[    0.2] Call Trace:\n");
    CHECK(console.splat_lines() == std::vector<std::size_t>{3});
}

TEST_CASE("what a console lets through is the trace alone") {
    Console console;
    const char* dump = "[    0.1] sh: vmalloc error: size 8192\n[    0.1] Call Trace:\n";
    console.append(dump);
    CHECK(console.splat_lines() == std::vector<std::size_t>{1});
    console.let_through("vmalloc error:");
    console.append(dump);
    CHECK(console.splats().size() == 1);
    console.append("[    0.2] sh: vmalloc error: size 8192\n[    0.2] BUG: KASAN: use-after-free\n");
    CHECK(console.splats().size() == 2);
}

TEST_CASE("a race that KCSAN reports is the kernel's own where no module of ours stands") {
    const auto report = [](const std::string& title, const std::string& frame) {
        return "[    1.0] ==================================================================\n"
               "[    1.0] BUG: KCSAN: data-race in " +
               title +
               "\n"
               "[    1.0] \n"
               "[    1.0] write to 0xffff888003a1c2e8 of 8 bytes by interrupt on cpu 0:\n"
               "[    1.0]  wq_worker_tick+0x4e/0x120\n"
               "[    1.0]  update_process_times+0x8d/0xb0\n"
               "[    1.0] \n"
               "[    1.0] read to 0xffff888003a1c2e8 of 8 bytes by task 30 on cpu 1:\n"
               "[    1.0]  " +
               frame +
               "+0x10/0x20\n"
               "[    1.0]  kthread+0x1a2/0x1e0\n"
               "[    1.0] \n"
               "[    1.0] value changed: 0x0000000000000004 -> 0x0000000000000005\n"
               "[    1.0] \n"
               "[    1.0] Reported by Kernel Concurrency Sanitizer on:\n"
               "[    1.0] CPU: 1 UID: 0 PID: 30 Comm: kworker/1:1 Tainted: G           O       6.12.117-kcsan #1\n"
               "[    1.0] ==================================================================\n";
    };
    Console console;
    console.let_race("timekeeping_cycles_to_ns");
    SECTION("none does") {
        console.append(report("process_scheduled_works / wq_worker_tick", "process_scheduled_works"));
        CHECK(console.clean());
        CHECK(console.splat_lines().empty());
        CHECK(console.kernel_races() == std::vector<std::size_t>{1});
        SECTION("what comes behind it counts") {
            console.append("[    2.0] WARNING: CPU: 0 PID: 7 at f.c:1\n");
            CHECK(console.splats() == std::vector<std::string>{"WARNING: CPU: 0 PID: 7 at f.c:1"});
        }
    }
    SECTION("one does") {
        const std::string frame =
            GENERATE("kpl_hit+0x1/0x2 [kprobe_lua]\n  f", "kpl_stub_sum+0x1/0x2 [kprobe_lua_stubs]\n  f",
                     "kpl_t_plain+0x1/0x2 [kpl_target]\n  f");
        console.append(report("f / wq_worker_tick", frame));
        CHECK(console.splat_lines() == std::vector<std::size_t>{1});
        CHECK(console.kernel_races().empty());
    }
    SECTION("a direct call's stub does, and stands above what raced") {
        console.append(report("f / wq_worker_tick", "f+0x1/0x2\n  kpl_stub_0+0x87/0xc0 [kprobe_lua_stubs]\n  g"));
        CHECK(console.clean());
        console.append(report("kpl_stub_0 [kprobe_lua_stubs] / wq_worker_tick", "kpl_stub_0"));
        CHECK_FALSE(console.clean());
    }
    SECTION("one does, and an interrupt came") {
        const std::string entry = GENERATE("asm_sysvec_apic_timer_interrupt", "asm_common_interrupt");
        console.append(report("f / wq_worker_tick",
                              "f+0x1/0x2\n  " + entry + "+0x1a/0x20\n  kpl_verify+0x1/0x2 [kprobe_lua]\n  g"));
        CHECK(console.clean());
        console.append(report("f / wq_worker_tick", "kpl_hit+0x1/0x2 [kprobe_lua]\n  " + entry + "+0x1a/0x20\n  f"));
        CHECK_FALSE(console.clean());
    }
    SECTION("of two stacks, an interrupt came in the other") {
        std::string text = report("f / wq_worker_tick", "kpl_hit+0x1/0x2 [kprobe_lua]\n  f");
        text.insert(text.find("[    1.0]  update_process_times"),
                    "[    1.0]  asm_sysvec_apic_timer_interrupt+0x1a/0x20\n");
        console.append(text);
        CHECK_FALSE(console.clean());
    }
    SECTION("its title does") {
        console.append(report("kpl_hit [kprobe_lua] / wq_worker_tick", "f"));
        CHECK_FALSE(console.clean());
    }
    SECTION("it calls a function that may race") {
        const std::string caller = "timekeeping_cycles_to_ns+0x1/0x2\n  kpl_hit";
        console.append(report("timekeeping_advance / timekeeping_cycles_to_ns", caller + "+0x1/0x2 [kprobe_lua]\n  f"));
        CHECK(console.clean());
        CHECK(console.kernel_races().size() == 1);
        console.append(report("kpl_hit [kprobe_lua] / timekeeping_cycles_to_ns", "timekeeping_cycles_to_ns"));
        CHECK_FALSE(console.clean());
    }
    SECTION("another splat stands in it") {
        std::string text = report("process_scheduled_works / wq_worker_tick", "process_scheduled_works");
        text.insert(text.find("[    1.0] read to"),
                    "[    1.0] BUG: sleeping function called from invalid context at f.c:1\n");
        console.append(text);
        CHECK(console.splats() ==
              std::vector<std::string>{"BUG: sleeping function called from invalid context at f.c:1"});
    }
    SECTION("a report without an end") {
        const std::string text = report("process_scheduled_works / wq_worker_tick", "process_scheduled_works");
        const auto end = text.find("[    1.0] Reported by");
        console.append(text.substr(0, end));
        CHECK_FALSE(console.clean());
        console.append(text);
        CHECK(console.splats().size() == 1);
        CHECK(console.kernel_races().size() == 1);
    }
}

TEST_CASE("what programs need") {
    SECTION("a dynamic program brings its loader and libc") {
        const auto needs = program_needs(fs::read_symlink("/proc/self/exe"));
        REQUIRE(needs.ok());
        CHECK(needs->is_elf);
        CHECK_FALSE(needs->interpreter.empty());
        const auto has = [&](const std::string& name) {
            for (const auto& library : needs->libraries)
                if (library.find(name) != std::string::npos && fs::exists(library)) return true;
            return false;
        };
        CHECK(has("libc.so"));
        CHECK(has("libstdc++.so"));
        CHECK(has("ld-linux"));
    }
    SECTION("a static program needs nothing") {
        const auto needs = program_needs("/bin/busybox");
        REQUIRE(needs.ok());
        CHECK(needs->is_elf);
        CHECK(needs->libraries.empty());
    }
    SECTION("a script, a text, a cut-off ELF file, no file") {
        const TempDir dir;
        dir.write("script", "#! /usr/bin/awk -f\n{}");
        dir.write("text", "hello");
        dir.write("cut", std::string("\177ELF\2\1\1", 7));
        CHECK(program_needs(dir / "script")->interpreter == "/usr/bin/awk");
        CHECK(program_needs(dir / "text")->interpreter.empty());
        CHECK_FALSE(program_needs(dir / "cut")->is_elf);
        CHECK_FALSE(program_needs(dir / "none").ok());
    }
}

// A program whose loader is a script that leaves a trace.
std::string program_with_loader(const TempDir& dir) {
    dir.write("l", "#!/bin/sh\ntouch " + (dir / "ran") + "\n");
    std::ostringstream bytes;
    bytes << std::ifstream("/usr/bin/env", std::ios::binary).rdbuf();
    std::string program = bytes.str();
    const std::string usual = "/lib64/ld-linux-x86-64.so.2";
    std::string own = dir / "l";
    own.resize(usual.size());
    return program.replace(program.find(usual), usual.size(), own);
}

TEST_CASE("a loader that a program names does not run outside the VM") {
    const TempDir dir;
    dir.write("program", program_with_loader(dir));
    const auto needs = program_needs(dir / "program");
    REQUIRE(needs.ok());
    CHECK(needs->libraries == std::vector<std::string>{dir / "l"});
    CHECK_FALSE(fs::exists(dir / "ran"));
}

TEST_CASE("of Lua files beside a script, only the bytes are taken") {
    const TempDir dir, others;
    others.write("interpreter", program_with_loader(others));
    dir.write("program.lua", program_with_loader(dir));
    dir.write("script.lua", "#!" + others / "interpreter" + "\n");
    dir.write("large.lua", "");
    fs::resize_file(dir / "large.lua", 1ull << 30);
    fs::create_symlink("/etc/passwd", dir / "passwd.lua");
    if (geteuid() != 0) dir.write("private.lua", "", fs::perms::none);
    GuestImage image = GuestImage::create().value();
    REQUIRE(image.add_lua_tree(dir.path()).ok());
    const std::string archive = image.serialize();
    const auto holds = [&](const std::string& path) { return archive.find(path.substr(1) + '\0') != archive.npos; };
    CHECK(holds(dir / "program.lua"));
    CHECK(holds(dir / "script.lua"));
    CHECK_FALSE(holds(others / "interpreter"));
    CHECK_FALSE(holds(dir / "large.lua"));
    CHECK(archive.find("nobody:x:65534:65534::/:/bin/false") != archive.npos);
    CHECK_FALSE((fs::exists(dir / "ran") || fs::exists(others / "ran")));
}

TEST_CASE("a program without its debug information still runs") {
    const TempDir dir;
    std::ostringstream bytes;
    bytes << std::ifstream(fs::read_symlink("/proc/self/exe"), std::ios::binary).rdbuf();
    const std::string cut = loaded_part(bytes.str());
    CHECK(cut.size() < bytes.str().size());
    dir.write("program", cut);
    const auto listed = program_output({dir / "program", "--list-test-names-only"});
    REQUIRE(listed.ok());
    CHECK_THAT(listed->text, Catch::Contains("a program without its debug information still runs"));
    CHECK(loaded_part("#!/bin/sh") == "#!/bin/sh");
    CHECK(loaded_part(cut.substr(0, 100)) == cut.substr(0, 100));
}

TEST_CASE("an image has the host's files at the host's paths") {
    const TempDir dir;
    dir.write("real/script.lua", "return 1");
    dir.write("real/lib/deep/module.lua", "return 2");
    dir.write("real/lib/other.txt", "");
    fs::create_directory_symlink("real", dir / "link");
    auto made = GuestImage::create();
    REQUIRE(made.ok());
    GuestImage image = std::move(made).value();
    const auto holds = [&image](const std::string& path) {
        return image.serialize().find(path.substr(1) + '\0') != std::string::npos;
    };

    SECTION("busybox and its commands") {
        for (const char* name : {"/busybox", "/sh", "/cat", "/dd"}) CHECK(holds(name));
    }
    SECTION("through a link, which comes along") {
        REQUIRE(image.add_host(dir / "link/script.lua").ok());
        CHECK(holds(dir / "real/script.lua"));
        CHECK(holds(dir / "link"));
    }
    SECTION("the Lua files of a tree") {
        REQUIRE(image.add_lua_tree(dir / "real").ok());
        CHECK(holds(dir / "real/lib/deep/module.lua"));
        CHECK_FALSE(holds(dir / "real/lib/other.txt"));
    }
    SECTION("a directory, even one that links to itself") {
        fs::create_directory_symlink(".", dir / "real/self");
        REQUIRE(image.add_host(dir / "real").ok());
        CHECK(holds(dir / "real/lib/other.txt"));
    }
    SECTION("what can't be put into a VM") {
        for (const char* path : {"/dev/null", "/proc/version", "/", "/nonexistent"})
            CHECK_FALSE(image.add_host(path).ok());
        CHECK_THAT(image.add_host("/nonexistent").error().text, Catch::Contains("No such file"));
    }
}

TEST_CASE("host files are found as a shell finds programs") {
    CHECK(find_host_file("busybox").value().ends_with("/busybox"));
    CHECK(find_host_file("/bin/busybox").value() == "/bin/busybox");
    CHECK_FALSE(find_host_file("no-such-program-here").ok());
    CHECK_FALSE(find_host_file("./busybox-is-not-here").ok());
}

TEST_CASE("the environment that a run inside sees") {
    setenv("KPROBE_LUA_TEST_VARIABLE", "1", 1);
    setenv("KPL_PRIVATE", "secret", 1);
    const auto env = GuestSpec::guest_environment();
    const auto has = [&env](const std::string& text) { return std::find(env.begin(), env.end(), text) != env.end(); };
    CHECK(has("KPROBE_LUA_TEST_VARIABLE=1"));
    CHECK_FALSE(has("KPL_PRIVATE=secret"));
    CHECK(env.front().starts_with("PATH="));
}
