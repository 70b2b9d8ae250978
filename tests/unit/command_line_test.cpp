// SPDX-License-Identifier: MIT
#include "main/command_line.hpp"

#include <unistd.h>
#include <algorithm>

#include <catch2/catch.hpp>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "main/tools.hpp"
#include "session/option_table.hpp"
#include "temp_dir.hpp"

using namespace kpl;
using kpl::test::TempDir;
using Action = CommandLine::Action;

namespace {

CommandLine parse(std::vector<std::string> args) {
    args.insert(args.begin(), "kprobe-lua");
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    return parse_command_line(static_cast<int>(args.size()), argv.data());
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("a script and what follows it") {
    const auto line = parse({"-v", "s.lua", "-v", "--vm", "x"});
    REQUIRE_FALSE(line.bad_usage);
    CHECK(line.action == Action::Run);
    CHECK(line.options.script == "s.lua");
    CHECK(line.options.args == Strings{"-v", "--vm", "x"});
    CHECK(line.options.verbose);
}

TEST_CASE("one leading -- of the script's arguments is stripped") {
    CHECK(parse({"s.lua", "--", "-x"}).options.args == Strings{"-x"});
}

TEST_CASE("a tool's name is the tool, a path is the file") {
    const std::string dir = std::filesystem::temp_directory_path() / ("kpl-tools-" + std::to_string(::getpid()));
    std::filesystem::create_directories(dir);
    std::ofstream(dir + "/mine.lua") << "print(1)";
    ::setenv("KPROBE_LUA_TOOLS", ("/nonexistent:" + dir).c_str(), 1);
    const auto line = parse({"-v", "mine", "-x", "1"});
    CHECK(line.tool);
    CHECK(line.options.script == dir + "/mine.lua");
    CHECK(line.options.args == Strings{"-x", "1"});
    for (const std::string path : {"./mine", "mine.lua", "other.lua"}) {
        CHECK_FALSE(parse({path}).tool);
        CHECK(parse({path}).options.script == path);
    }
    CHECK(called_tool("/usr/bin/mine-kpl") == "mine");
    CHECK_FALSE(called_tool("/usr/bin/other-kpl"));
    CHECK_FALSE(called_tool("kprobe-lua"));
    ::unsetenv("KPROBE_LUA_TOOLS");
    CHECK_FALSE(parse({"mine"}).tool);
    std::filesystem::remove_all(dir);
}

TEST_CASE("options") {
    const auto line = parse({"-e", "x = 1",  "-p",       "12", "-c", "ls -l", "--timeout", "1.5", "-o", "f",
                             "-d", "ir,asm", "--strict", "-I", "a",  "-I",    "b",         "-r",  "m",  "arg"});
    REQUIRE_FALSE(line.bad_usage);
    const RunOptions& o = line.options;
    CHECK(o.code == "x = 1");
    CHECK(o.pid == 12u);
    CHECK(o.command == "ls -l");
    CHECK(o.timeout == 1.5);
    CHECK(o.output == "f");
    CHECK(o.dump == std::set<std::string>{"ir", "asm"});
    CHECK(o.strict);
    CHECK(o.search_dirs == Strings{"a", "b"});
    CHECK(o.modules == Strings{"m"});
    CHECK(o.args == Strings{"arg"});
}

TEST_CASE("--vm keeps the rest of the command line for the run inside") {
    const auto line = parse({"--vm=6.1", "-v", "--vm-add", "/bin/x", "-c", "ls", "s.lua", "--vm", "a"});
    REQUIRE_FALSE(line.bad_usage);
    CHECK(line.action == Action::Vm);
    CHECK(line.vm_kernel == "6.1");
    CHECK(line.vm_add == Strings{"/bin/x"});
    CHECK(line.vm_argv == Strings{"-v", "-c", "ls", "s.lua", "--vm", "a"});
    CHECK(line.options.args == Strings{"--vm", "a"});

    const auto command = parse({"--vm", "-c", "kprobe-lua a.lua; kprobe-lua b.lua"});
    CHECK(command.action == Action::Vm);
    CHECK(command.options.script.empty());
    CHECK(parse({"-c", "ls"}).bad_usage);
    const auto newest = parse({"--vm", "s.lua"});
    CHECK(newest.action == Action::Vm);
    CHECK(newest.vm_kernel.empty());
    CHECK(newest.options.script == "s.lua");
}

TEST_CASE("a prompt takes a terminal, which tests do not have, and what ends by itself takes none") {
    if (::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO)) return;
    CHECK(parse({}).text == "no script given");
    CHECK(parse({"-i"}).text.starts_with("-i needs a terminal"));
    CHECK(parse({"--vm", "-i", "s.lua"}).bad_usage);
    CHECK_FALSE(parse({"s.lua"}).options.prompt);
}

TEST_CASE("each option that changes a run has a twin in the environment") {
    for (const OptionHelp& row : options_help()) {
        INFO(row.names.back());
        CHECK_FALSE(row.help.empty());
        const std::string& name = row.names.back();
        const bool shows = name == "--help" || name == "--version" || name == "--info" || name == "-l" || name == "-i";
        CHECK(row.environment.starts_with("KPROBE_LUA_") != shows);
        if (!name.starts_with("--") || shows) continue;
        std::string twin = name.substr(2);
        for (char& c : twin) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        CHECK(row.environment == "KPROBE_LUA_" + twin);
    }
    ::setenv("KPROBE_LUA_DRY_RUN", "1", 1);
    ::setenv("KPROBE_LUA_COMMAND", "ls", 1);
    ::setenv("KPROBE_LUA_VM", "6.1", 1);
    const auto line = parse({"s.lua"});
    for (const char* name : {"KPROBE_LUA_DRY_RUN", "KPROBE_LUA_COMMAND", "KPROBE_LUA_VM"}) ::unsetenv(name);
    CHECK(line.options.dry_run);
    CHECK(line.options.command == "ls");
    CHECK(line.action == Action::Vm);
    CHECK(line.vm_kernel == "6.1");
}

TEST_CASE("costs, dry runs and colours") {
    CHECK(parse({"--cost", "s.lua"}).options.check);
    CHECK(parse({"--dry-run", "s.lua"}).options.dry_run);
    CHECK(parse({"--dry-run", "--check", "s.lua"}).bad_usage);
    CHECK(parse({"s.lua"}).options.color == Color::Auto);
    CHECK(parse({"--color", "never", "s.lua"}).options.color == Color::Never);
    CHECK(parse({"--color", "blue", "s.lua"}).bad_usage);
}

TEST_CASE("what a command would pass over is refused") {
    const std::pair<Strings, const char*> rows[] = {
        {{"-o", "f", "doctor"}, "-o takes what a script writes: kprobe-lua doctor > FILE"},
        {{"-o", "f", "-l", "vfs_*"}, "-o takes what a script writes: kprobe-lua -l > FILE"},
        {{"-f", "json", "doctor"}, "doctor prints text: leave -f out"},
        {{"-f", "json", "--info"}, "--info prints text: leave -f out"},
        {{"-f", "json", "help", "kprobe"}, "help prints text: leave -f out"},
        {{"-f", "json", "--vm", "list", "--lua"}, "list prints text: leave -f out"},
        {{"-f", "folded", "list"}, "list prints text, or JSON with -f json"},
    };
    for (const auto& [args, text] : rows) {
        CAPTURE(text);
        CHECK(parse(args).bad_usage);
        CHECK(parse(args).text == text);
    }
    for (const Strings& args : {Strings{"-f", "json", "list"}, {"-f", "text", "doctor"}, {"-o", "f", "-l", "s.lua"}})
        CHECK_FALSE(parse(args).bad_usage);
    ::setenv("KPROBE_LUA_FORMAT", "json", 1);
    ::setenv("KPROBE_LUA_OUTPUT", "f", 1);
    CHECK_FALSE(parse({"doctor"}).bad_usage);
    ::unsetenv("KPROBE_LUA_FORMAT");
    ::unsetenv("KPROBE_LUA_OUTPUT");
}

TEST_CASE("help names what numbers may be") {
    std::map<std::string, std::string> help;
    for (const OptionHelp& row : options_help()) help[row.names.back()] = row.help;
    for (const auto& [option, range] : std::map<std::string, std::string>{{"--dead-man", "; 2 to 86400"},
                                                                          {"--wake-fill", "; 1 to 50"},
                                                                          {"--wake-latency", "; 0 to 60000"},
                                                                          {"--cpu-share", "; 1 to 100"},
                                                                          {"--max-probes", "; 1 to 65536"},
                                                                          {"--buffer", "; 4K to 64M"}})
        CHECK(help[option].ends_with(range));
}

TEST_CASE("wrong usage says what is wrong") {
    for (const Strings& args :
         {Strings{}, Strings{"--nonsense", "s.lua"}, Strings{"-p", "x", "s.lua"}, Strings{"-p", "0", "s.lua"},
          Strings{"--timeout", "-1", "s.lua"}, Strings{"-d", "nope", "s.lua"}, Strings{"-e"},
          Strings{"--vm-add", "f", "s.lua"}, Strings{"--vm=", "s.lua"}, Strings{"--timeout", "nan", "s.lua"}}) {
        const auto line = parse(args);
        CHECK(line.bad_usage);
        CHECK_FALSE(line.text.empty());
    }
}

TEST_CASE("a file in the current directory takes the place of nothing") {
    TempDir here;
    for (const char* name : {"list", "vfs_read", "mine"}) here.write(name, "print(1)");
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(here.path());
    CHECK(parse({"list"}).action == Action::Inspect);
    CHECK(parse({"-l", "vfs_read"}).action == Action::Inspect);
    CHECK(parse({"mine"}).text == "there is no tool 'mine'; to run that file: kprobe-lua ./mine");
    CHECK(parse({"./list"}).options.script == "./list");
    CHECK(parse({"-l", "./vfs_read"}).options.script == "./vfs_read");
    std::filesystem::current_path(before);
}

TEST_CASE("what is no script, tool, command or option is answered with what was meant") {
    const std::pair<Strings, const char*> rows[] = {
        {{"opensnop"}, "there is no script or tool 'opensnop' (did you mean opensnoop?)"},
        {{"docter"}, "there is no script or tool 'docter' (did you mean doctor?)"},
        {{"xyzzy"},
         "there is no script or tool 'xyzzy'; kprobe-lua tools lists the tools, -e takes a script in one line"},
        {{"vfs_*"},
         "there is no script or tool 'vfs_*': kprobe-lua -l 'vfs_*' lists functions, kprobe-lua funccount 'vfs_*' counts their calls"},
        {{"p::vfs_read"},
         "there is no script or tool 'p::vfs_read': write kprobe(\"vfs_read\", function(p) … end), in -e or a script"},
        {{"stat", "-e", "x"}, "there is no script or tool 'stat': kprobe-lua funccount f counts the calls of f"},
        {{"--chek", "s.lua"}, "The following argument was not expected: --chek (did you mean --check?)"},
    };
    ::setenv("KPROBE_LUA_TOOLS", KPL_SOURCE "/lua/tools", 1);
    for (const auto& [args, expected] : rows) {
        INFO(args.front());
        CHECK(parse(args).bad_usage);
        CHECK(parse(args).text == expected);
    }
    ::unsetenv("KPROBE_LUA_TOOLS");
}

TEST_CASE("help ends with examples; version and doctor") {
    CHECK(parse({"-h"}).action == Action::Help);
    CHECK(parse({"-h"}).text.find("Examples:") != std::string::npos);
    CHECK(parse({"-V"}).action == Action::Version);
    CHECK(parse({"doctor"}).action == Action::Inspect);
    CHECK(parse({"doctor"}).inspect == Strings{"doctor"});
}

TEST_CASE("commands that show the system") {
    const auto disasm = parse({"-f", "json", "disasm", "vfs_read", "ext4:ext4_sync_fs+0x10"});
    REQUIRE_FALSE(disasm.bad_usage);
    CHECK(disasm.action == Action::Inspect);
    CHECK(disasm.inspect == Strings{"disasm", "vfs_read", "ext4:ext4_sync_fs+0x10"});
    CHECK(disasm.options.format == format_named("json"));
    CHECK(parse({"-l", "vfs_*"}).inspect == Strings{"-l", "vfs_*"});
    CHECK(parse({"-l"}).inspect == Strings{"-l"});
    const auto verbose = parse({"-lv", "vfs_*"});
    CHECK(verbose.inspect == Strings{"-l", "vfs_*"});
    CHECK(verbose.options.verbose);
    CHECK(parse({"--info"}).inspect == Strings{"--info"});
    // In a VM, too.
    const auto vm = parse({"--vm=6.1", "list", "blacklist"});
    CHECK(vm.action == Action::Vm);
    CHECK(vm.inspect == Strings{"list", "blacklist"});
    CHECK(vm.vm_argv == Strings{"list", "blacklist"});
    CHECK(parse({"--vm", "-l"}).vm_argv == Strings{"-l"});
    // Code goes before them: what follows are its arguments.
    CHECK(parse({"-e", "x = 1", "list"}).action == Action::Run);
    CHECK(parse({"./unknown"}).action == Action::Run);
}

TEST_CASE("rings, wake-ups and formats") {
    const RunOptions defaults = parse({"s.lua"}).options;
    CHECK(defaults.ring_bytes == 0);
    CHECK(defaults.ring() == 1 << 20);
    CHECK(defaults.wake_latency_ms == 20);
    CHECK(defaults.wake_fill == 25);
    CHECK(defaults.format == format_named("text"));
    const RunOptions o =
        parse({"--buffer", "5000", "--wake-latency", "0", "--wake-fill", "50", "-f", "folded", "s.lua"}).options;
    CHECK(o.ring_bytes == 8192);
    CHECK(o.wake_latency_ms == 0);
    CHECK(o.wake_fill == 50);
    CHECK(o.format == format_named("folded"));
    CHECK(parse({"--buffer", "64M", "s.lua"}).options.ring_bytes == 64 << 20);
    for (const Strings& bad : {Strings{"--buffer", "65M"},
                               {"--buffer", "1K"},
                               {"--buffer", "4G"},
                               {"--wake-fill", "0"},
                               {"--wake-fill", "51"},
                               {"--wake-latency", "-1"},
                               {"-f", "xml"}}) {
        Strings args = bad;
        args.push_back("s.lua");
        CAPTURE(bad[0], bad[1]);
        CHECK(parse(args).bad_usage);
    }
}

// The library takes the options of a session by name: each does what its option of the command does.
TEST_CASE("options have one meaning on the command line and in the library") {
    const auto value_of = [](const OptionRow& row) -> std::string {
        if (std::string(row.name) == "dump") return "ir,asm";
        if (row.size) return "2M";
        if (std::string_view(row.value) == "MODULE" || std::string_view(row.value) == "DIR") return "some";
        return std::to_string(std::max(row.least + 1, 12u));
    };
    const auto text = [](const Options& o) {
        std::string all;
        for (const auto& list : {o.modules, o.search_dirs})
            for (const std::string& one : list) all += one + ",";
        for (const std::string& stage : o.dump) all += stage + ",";
        for (const uint32_t n :
             {o.pid.value_or(0), o.max_probes, o.ring_bytes, o.wake_latency_ms, o.wake_fill, o.cpu_share, o.dead_man})
            all += std::to_string(n) + ",";
        for (const bool b : {o.check, o.quiet, o.verbose, o.no_self, o.unsafe == Unsafe::All}) all += b ? "1" : "0";
        return all;
    };
    for (const OptionRow& row : option_table()) {
        INFO(row.name);
        const bool flag = row.is_flag();
        const std::string flags = row.flags;
        Strings words{flags.substr(0, flags.find(','))};
        if (!flag) words.push_back(value_of(row));
        words.push_back("s.lua");
        const auto line = parse(words);
        REQUIRE_FALSE(line.bad_usage);
        Options options;
        REQUIRE(set_option(options, row.name, flag ? "1" : value_of(row)).ok());
        CHECK(text(options) == text(line.options));
        CHECK(text(options) != text(Options{}));
    }
}
