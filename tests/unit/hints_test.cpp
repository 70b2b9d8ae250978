// SPDX-License-Identifier: MIT
// What users of other tracers write is recognised, and answered from the table that the documentation shows.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <tuple>
#include <vector>

#include "hints/other_tracers.hpp"

using namespace kpl;

namespace {

std::string read(const std::string& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

std::string table(std::string_view tracer) {
    std::string out = fmt::format("| {} | here |\n|---|---|\n", tracer);
    for (const TracerHint& hint : tracer_hints())
        if (hint.tracer == tracer) out += fmt::format("| `{}` | {} |\n", hint.theirs, hint.ours);
    return out;
}

// The document with its last section's table as it should be.
std::string with_table(const std::string& document, std::string_view tracer) {
    const size_t at = document.find(fmt::format("| {} | here |", tracer));
    REQUIRE(at != document.npos);
    return document.substr(0, at) + table(tracer);
}

// The blocks of a document in one language.
std::vector<std::string> blocks(const std::string& document, const std::string& language) {
    std::vector<std::string> found;
    const std::string fence = "```" + language + "\n";
    for (size_t at = 0; (at = document.find(fence, at)) != document.npos; at++) {
        const size_t begin = at + fence.size();
        found.push_back(document.substr(begin, document.find("```", begin) - begin));
    }
    return found;
}

std::string answer(std::optional<std::string> text) { return text.value_or("-"); }

}  // namespace

TEST_CASE("the documents' tables are the table") {
    for (const auto& [file, tracer] : {std::pair("from-bpftrace.md", "bpftrace"), {"from-systemtap.md", "SystemTap"}}) {
        const std::string path = std::string(KPL_DOCS "/") + file;
        const std::string wanted = with_table(read(path), tracer);
        if (std::getenv("KPL_UPDATE_DOCS")) std::ofstream(path) << wanted;
        CHECK(read(path) == wanted);
    }
}

// tests/vm/cases/docs-from.sh runs the answers.
TEST_CASE("twenty questions, side by side") {
    const std::string bpftrace = read(KPL_DOCS "/from-bpftrace.md"), stap = read(KPL_DOCS "/from-systemtap.md");
    CHECK(blocks(bpftrace, "lua").size() == 20);
    CHECK(blocks(bpftrace, "lua") == blocks(stap, "lua"));
    CHECK(blocks(bpftrace, "bpftrace").size() == 20);
    CHECK(blocks(stap, "systemtap").size() == 20);
    // Each question, pasted, is answered.
    for (const auto& [document, language, words] : {std::tuple(bpftrace, "bpftrace", "this is written for bpftrace"),
                                                    {stap, "systemtap", "this is written for SystemTap"}})
        for (const std::string& block : blocks(document, language)) {
            INFO(block);
            CHECK(answer(foreign_script(block)).starts_with(words));
        }
}

TEST_CASE("rows of the table") {
    for (const TracerHint& hint : tracer_hints()) {
        INFO(hint.theirs);
        CHECK(hint.theirs.find('|') == hint.theirs.npos);
        CHECK(hint.ours.find('|') == hint.ours.npos);
        // What is shown as theirs is found by the row's own shape.
        const std::string theirs(hint.theirs);
        CHECK(std::regex_search(theirs, std::regex(std::string(hint.shape))));
    }
}

TEST_CASE("targets of other tracers") {
    const std::pair<const char*, const char*> rows[] = {
        {"kprobe:vfs_read", "write kprobe(\"vfs_read\", function(p) … end)"},
        {"kretprobe:vfs_read", "write kretprobe(\"vfs_read\", function(p, ret) … end)"},
        {"fentry:vmlinux:vfs_read", "write kprobe(\"vfs_read\", function(p) … end)"},
        {"tracepoint:syscalls:sys_enter_openat",
         "write syscall(\"openat\", function(p) … end), whose parameters after p are the call's"},
        {"tracepoint:syscalls:sys_exit_read", "write syscall{ \"read\", ret = function(p, ret) … end }"},
        {"tracepoint:sched:sched_switch",
         "write tracepoint(\"sched:sched_switch\", function(p) … end), whose parameters after p are what it passes"},
        {"uprobe:/bin/bash:readline", "write uprobe(\"/bin/bash:readline\", function(p) … end)"},
        {"uretprobe:/bin/bash:readline", "write uretprobe(\"/bin/bash:readline\", function(p, ret) … end)"},
        {"usdt:/usr/bin/python3:python:line", "write usdt(\"/usr/bin/python3:python:line\", function(p) … end)"},
        {"U:/usr/bin/python3:line", "write usdt(\"/usr/bin/python3:*:line\", function(p) … end)"},
        {"process(\"/usr/bin/python3\").mark(\"line\")", "write usdt(\"/usr/bin/python3:*:line\", function(p) … end)"},
        {"/bin/bash:readline", "write uprobe(\"/bin/bash:readline\", function(p) … end)"},
        {"interval:s:5", "write every(5, function() … end)"},
        {"interval:ms:200", "write every(200 / 1000, function() … end)"},
        {"timer.s(1)", "write every(1, function() … end)"},
        {"profile:hz:99", "write profile(99, function(p) … end)"},
        {"BEGIN", "what runs first is the script itself, outside of functions"},
        {"end", "write at_exit(function() … end)"},
        {"kernel.function(\"vfs_read@fs/read_write.c\").return",
         "write kretprobe(\"vfs_read\", function(p, ret) … end)"},
        {"kernel.function(\"vfs_read\")", "write kprobe(\"vfs_read\", function(p) … end)"},
        {"syscall.open.return", "write syscall{ \"open\", ret = function(p, ret) … end }"},
        {"p:vfs_read", "write kprobe(\"vfs_read\", function(p) … end)"},
        {"r::vfs_read", "write kretprobe(\"vfs_read\", function(p, ret) … end)"},
        {"fbt::vfs_read:entry", "write kprobe(\"vfs_read\", function(p) … end)"},
        {"@x", "@ is no part of a name here: a local variable holds a count(), a hist() or a map()"},
    };
    for (const auto& [target, expected] : rows) {
        INFO(target);
        CHECK(answer(foreign_target(target)) == expected);
    }
    CHECK(answer(foreign_target("sys_open")).starts_with("write syscall(\"open\""));
    for (const char* target : {"vfs_read", "ext4:ext4_sync_fs", "vfs_read+0x1a", "begin_new_exec",
                               "tracepoint_probe_register", "iter_file"}) {
        INFO(target);
        CHECK_FALSE(foreign_target(target));
    }
}

TEST_CASE("names of other tracers") {
    CHECK(answer(foreign_name("nsecs")) == "bpftrace's nsecs is now()");
    CHECK(answer(foreign_name("arg3")) == "bpftrace's arg3 is p.arg[1], p.arg[2]");
    CHECK(answer(foreign_name("execname")) == "SystemTap's execname is comm()");
    CHECK_FALSE(foreign_name("sec"));
    CHECK_FALSE(foreign_name(""));
}

TEST_CASE("scripts of other tracers") {
    const auto says = [](const char* code, const char* what) {
        const std::string text = answer(foreign_script(code));
        INFO(text);
        return text.find(what) != text.npos;
    };
    const char* one_liners[] = {
        "kprobe:vfs_read { @[comm] = count(); }",
        "BEGIN { printf(\"hello\\n\"); }",
        "tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", comm, str(args->filename)); }",
        "tracepoint:raw_syscalls:sys_enter { @[pid, comm] = count(); }",
        "kretprobe:vfs_read /pid == 18644/ { @bytes = hist(retval); }",
        "#!/usr/bin/env bpftrace\n/* counts */\nkprobe:vfs_*,\nkprobe:do_* { @[probe] = count() }",
        "// times\nkprobe:vfs_read { @start[tid] = nsecs; }\nkretprobe:vfs_read /@start[tid]/ { @ns = hist(nsecs - @start[tid]); }",
        "profile:hz:99 { @[kstack] = count(); }",
        "interval:s:1 { print(@); clear(@); }",
        "uprobe:/bin/bash:readline { printf(\"%s\\n\", str(arg0)); }",
    };
    for (const char* code : one_liners) {
        INFO(code);
        CHECK(says(code, "this is written for bpftrace; here scripts are Lua, and this is\n  "));
    }
    CHECK(says(one_liners[0], "kprobe(\"f\", function(p) … end)"));
    CHECK(says(one_liners[0], "n[comm()]:add()"));
    CHECK_FALSE(says(one_liners[0], "at_exit"));
    CHECK(says(one_liners[4], "if pid() == 1 then"));
    CHECK(says(one_liners[4], "the second parameter of a kretprobe's handler"));
    CHECK(says(one_liners[6], "start[tid()] = now()"));
    CHECK(says("probe kernel.function(\"vfs_read\") { println(execname()) }", "this is written for SystemTap"));
    CHECK(says("#!/usr/bin/stap\nglobal n\nprobe kernel.function(\"vfs_read\").return { n[execname()] <<< $return }",
               "n[comm()]:add(size)"));
    CHECK(says("fbt::vfs_read:entry\n/execname == \"cat\"/\n{ @n = count(); }",
               "this is written for DTrace; here scripts are Lua"));
    CHECK(says("#include <linux/module.h>\nint init_module(void) { return 0; }", "this is written for a C compiler"));
    const char* lua[] = {
        "kprobe('vfs_read', function() end)",
        "local n = count()\nkprobe { 'vfs_read', pre = function() n:add() end }",
        "BEGIN = 1\nkprobe('x', print)",
        "-- kprobe:vfs_read { }\nprint(1",
        "global = 1",
        "-- MODULE_LICENSE and #include\nprint(1",
        "probe = kprobe('x', print)",
    };
    for (const char* code : lua) {
        INFO(code);
        CHECK_FALSE(foreign_script(code));
    }
}

TEST_CASE("what is long is looked at as far as it matters") {
    const std::string much(1 << 20, 'x'), blanks(1 << 20, ' ');
    for (const std::string& code :
         {"-- see http://" + much + "\nprint(1", "x = \"" + much, blanks + "print(1", "/* " + much})
        CHECK_FALSE(foreign_script(code));
    CHECK(foreign_script("/* " + much + " */\n// " + much + "\n" + blanks + "kprobe:f { @ = count(); }"));
    CHECK_FALSE(foreign_operator("x = \"" + much + "\" + 1"));
    CHECK_FALSE(foreign_target("k:" + much));
}
