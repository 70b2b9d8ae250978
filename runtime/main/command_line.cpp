// SPDX-License-Identifier: MIT
#include "main/command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "main/commands.hpp"
#include "main/tools.hpp"
#include "session/option_table.hpp"
#include "symbols/nearest.hpp"

namespace kpl {
namespace {

constexpr const char* description =
    "Probes a live Linux kernel with Lua: handlers are compiled, verified and run in the kernel.";
constexpr const char* examples = R"(Examples:
  kprobe-lua opensnoop.lua                         run a script until ^C
  kprobe-lua opensnoop -x                          run one of the tools in the box
  kprobe-lua tools                                 what they are, with a line each; TOOL --help
  kprobe-lua -c 'ls /tmp' opensnoop.lua            run it while a command runs
  kprobe-lua -e 'n = count(); kprobe("vfs_read", function() n[comm()]:add() end)'
  kprobe-lua --check script.lua                    compile and verify: no root, no module
  kprobe-lua --vm -c 'cat /etc/passwd' script.lua  the same in a throwaway VM: no root, no risk
  kprobe-lua help kretprobe                        what the documents say about a name, a kernel function or a type
  kprobe-lua doctor                                what is missing here, and what fixes it
  kprobe-lua -l 'vfs_*'                            what can be probed; -lv with C declarations
  kprobe-lua disasm vfs_read                       its instructions: where a probe may stand, and how cheap it is there
  kprobe-lua list                                  every probe in the system, and its owner
  kprobe-lua list --lua                            others' trace events that are probes, as a script
  kprobe-lua list blacklist                        what the kernel forbids to probe
  kprobe-lua events script.lua --install           its probes as the kernel's own trace events, for perf; --remove
  kprobe-lua bench                                 what a hit costs on this machine, by each kind of probe
  kprobe-lua knobs                                 the switches for probes in the whole system; also sets them

Each option that changes a run has a twin in the environment: KPROBE_LUA_TIMEOUT, KPROBE_LUA_DRY_RUN; those with a
letter alone are KPROBE_LUA_CODE, _REQUIRE, _INCLUDE, _COMMAND, _PID, _OUTPUT, _FORMAT, _BUFFERING and _DUMP.

Exit status: 0 ended or ^C, 1 script or run-time error, 2 usage, or the script's own exit(n).)";

// Splits --vm and --vm-add off: what is left is the command line of the run inside the VM. Stops at the script.
std::vector<std::string> without_vm(int argc, char** argv, const std::vector<std::string>& script_args,
                                    bool has_script) {
    const int own = argc - static_cast<int>(script_args.size()) - (has_script ? 1 : 0);
    std::vector<std::string> out;
    for (int i = 1; i < argc; i++) {
        const std::string arg = argv[i];
        if (i < own && (arg == "--vm" || arg.starts_with("--vm=") || arg.starts_with("--vm-add="))) continue;
        if (i < own && arg == "--vm-add") {
            i++;
            continue;
        }
        out.push_back(arg);
    }
    return out;
}

struct Parsed {
    RunOptions& options;
    CommandLine& line;
    std::string code{}, command{};
    double timeout = 0;
    std::vector<std::string> positionals{};
    std::vector<CLI::Option*> session{};  // by row of option_table()
    bool version = false;
    bool info = false, list = false;
    std::string vm{};
};

CLI::Validator positive(const char* what) {
    return CLI::Validator(
        [what](const std::string& text) {
            char* end = nullptr;
            const double n = std::strtod(text.c_str(), &end);
            return !text.empty() && !*end && n > 0 && n < 1e10 ? std::string() : "'" + text + "' is not " + what;
        },
        "");
}

// An option whose value is one of these names.
template <class T>
CLI::Option* add_choice(CLI::App& app, const char* name, T& into, const char* help,
                        std::vector<std::pair<std::string, T>> choices) {
    std::vector<std::string> names;
    for (const auto& choice : choices) names.push_back(choice.first);
    CLI::Option* option = app.add_option_function<std::string>(
        name,
        [&into, choices = std::move(choices)](const std::string& wanted) {
            for (const auto& [text, value] : choices)
                if (text == wanted) into = value;
        },
        help);
    return option->option_text(fmt::format("{}", fmt::join(names, "|")))->check(CLI::IsMember(names));
}

// An option of the session's: its values are read by the table, in take_session_options().
CLI::Option* add_row(CLI::App& app, const OptionRow& row) {
    const std::string range = row.range(), help = row.help + (range.empty() ? "" : "; " + range);
    if (row.is_flag()) return app.add_flag(row.flags, help)->take_last();
    if (!row.is_list())
        return app.add_option_function<std::string>(
            row.flags, [](const std::string&) {}, help);
    return app
        .add_option_function<std::vector<std::string>>(
            row.flags, [](const auto&) {}, help)
        ->allow_extra_args(false);
}

Result<void> take_session_options(Parsed& p) {
    for (size_t i = 0; i < p.session.size(); i++)
        for (const std::string& value : p.session[i]->results())
            if (auto done = set_option(p.options, option_table()[i], value); !done)
                return Error{Errc::usage, p.session[i]->get_name() + " " + done.error().text};
    return {};
}

void define(CLI::App& app, Parsed& p) {
    auto env = [](CLI::Option* option, const char* name) { return option->envname(std::string("KPROBE_LUA_") + name); };
    app.set_help_flag("-h,--help", "this help");
    app.add_flag("-V,--version", p.version, "print the version");
    app.add_flag("--info", p.info, "kernel, module and ABI, as a report for bug trackers")->option_text(" ");
    app.add_flag("-l", p.list,
                 "list what can be probed, by name or glob; with a script: what it would attach. -lv: with types");
    env(app.add_option("-e", p.code, "run this code instead of a script"), "CODE")->option_text("CODE");
    app.add_flag("-i", p.options.prompt,
                 "start a prompt, after the script if one is given; also without arguments on a terminal")
        ->option_text(" ");
    env(app.add_option("-c", p.command, "run this command once the probes are armed, and end with it"), "COMMAND")
        ->option_text("CMD");
    env(app.add_option("--timeout", p.timeout, "end after SECONDS"), "TIMEOUT")
        ->option_text("SECONDS")
        ->check(positive("a number of seconds"));
    env(app.add_option("-o", p.options.output,
                       "write the script's output to a file; a run that fails before its probes are armed leaves the "
                       "file as it was"),
        "OUTPUT")
        ->option_text("FILE");
    std::vector<std::pair<std::string, decltype(p.options.format)>> formats;
    for (const FormatRow& row : kpl::formats()) formats.emplace_back(row.name, format_named(row.name));
    env(add_choice(app, "-f", p.options.format, "format of the output: text, json, or folded stacks", formats),
        "FORMAT");
    env(add_choice(app, "-B", p.options.buffering, "buffering of the output: none, line or full",
                   {{"none", Buffering::None}, {"line", Buffering::Line}, {"full", Buffering::Full}}),
        "BUFFERING");
    env(app.add_flag("--strict", p.options.strict, "exit 1 if anything was lost or stopped")->option_text(" "),
        "STRICT");
    env(app.add_flag("--cost", p.options.cost, "as --check, and print what each handler may cost at most")
            ->option_text(" "),
        "COST");
    env(app.add_flag("--dry-run", p.options.dry_run, "place the probes, and end at once")->option_text(" "), "DRY_RUN");
    env(add_choice(app, "--color", p.options.color,
                   "colour messages: auto (on a terminal, unless NO_COLOR is set), always or never",
                   {{"auto", Color::Auto}, {"always", Color::Always}, {"never", Color::Never}}),
        "COLOR");
    for (const OptionRow& row : option_table())
        p.session.push_back(env(add_row(app, row), row.env)->option_text(row.value));
    env(app.add_flag("--vm{newest}", p.vm, "run in a throwaway VM: --vm=6.1, --vm=6.12, --vm=6.1-rt, or the newest")
            ->option_text("[=KERNEL]"),
        "VM");
    env(app.add_option(
            "--vm-add", p.line.vm_add,
            "put a file or directory, a program with its libraries, or a kernel module into the VM; with --vm and -c alone, "
            "the command runs there by itself"),
        "VM_ADD")
        ->option_text("FILE")
        ->allow_extra_args(false);
    app.add_option(
           "script", p.positionals,
           "the script or tool and its arguments; - reads stdin; or `disasm`, `list`, `bench`, `knobs`, `events`, `doctor`, `help`, `tools`")
        ->option_text("SCRIPT [ARGS]");
    app.positionals_at_end();
    app.footer(examples);
}

void fail(CommandLine& line, std::string why) {
    line.bad_usage = true;
    line.text = std::move(why);
}

bool on_terminal() { return ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO); }

// Other words are a command, a tool or a target: no file where one happens to be takes their place.
bool is_script(const std::string& word) { return word == "-" || word.find('/') != word.npos || word.ends_with(".lua"); }

// " (did you mean --check?)" for the first word that is no option.
std::string near_option(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        if (!word.starts_with('-')) continue;
        Nearest nearest(word);
        for (const OptionHelp& option : options_help())
            for (const std::string& name : option.names) nearest.offer(name);
        return did_you_mean(nearest.names());
    }
    return {};
}

// What is shown in place of a script that runs.
bool take_command(CommandLine& line, Parsed& p) {
    auto& rest = p.positionals;
    const bool code = line.options.code.has_value();
    if (p.info)
        line.inspect = {"--info"};
    else if (p.list && !code &&
             (rest.empty() || is_listed(rest.front()) || !(is_script(rest.front()) || find_tool(rest.front()))))
        line.inspect = {"-l"};
    else if (p.list || code || rest.empty() || !is_command(rest.front()))
        return false;
    line.inspect.insert(line.inspect.end(), rest.begin(), rest.end());
    line.action = CommandLine::Action::Inspect;
    return true;
}

// What commands would pass over. The environment's twins are for scripts, and may always be set.
std::string unused_option(const CLI::App& app, const CommandLine& line) {
    const auto given = [&](const char* option) {
        return app.count(option) && !std::getenv(app.get_option(option)->get_envname().c_str());
    };
    const std::string& command = line.inspect.front();
    if (given("-o")) return fmt::format("-o takes what a script writes: kprobe-lua {} > FILE", command);
    const bool json = has_json(line.inspect), text = line.options.format == &formats().front().format;
    if (given("-f") && !text && !(json && line.options.format->lists_are_json()))
        return fmt::format("{} prints text{}", command, json ? ", or JSON with -f json" : ": leave -f out");
    return {};
}

void settle(const CLI::App& app, CommandLine& line, Parsed& p, int argc, char** argv) {
    RunOptions& o = p.options;
    if (p.version) {
        line.action = CommandLine::Action::Version;
        return;
    }
    if (app.count("-e")) o.code = p.code;
    if (app.count("-c")) o.command = p.command;
    if (p.timeout > 0) o.timeout = p.timeout;
    if (auto taken = take_session_options(p); !taken) return fail(line, taken.error().text);
    o.check |= o.cost;
    if (o.check && o.dry_run) return fail(line, "--check places no probes, --dry-run does: leave one out");
    auto& rest = p.positionals;
    const bool command_alone = app.count("--vm") && o.command;
    const bool shows = take_command(line, p);
    if (shows)
        if (const std::string unused = unused_option(app, line); !unused.empty()) return fail(line, unused);
    if (!shows && !o.code && rest.empty() && !command_alone) {
        if (!o.prompt && !on_terminal()) return fail(line, "no script given");
        o.prompt = true;
    }
    if (o.prompt) {
        if (!on_terminal()) return fail(line, "-i needs a terminal; - reads a script from standard input");
        for (const char* other : {"-c", "-l", "--check", "--cost", "--dry-run", "--timeout"})
            if (app.count(other)) return fail(line, fmt::format("-i does not go with {}", other));
    }
    if (!o.code && !rest.empty()) {
        o.script = rest.front();
        rest.erase(rest.begin());
        if (auto tool = find_tool(o.script)) {
            o.script = *tool;
            o.search_dirs.insert(o.search_dirs.begin(),
                                 std::filesystem::path(*tool).parent_path());  // modules beside it
            line.tool = true;
        } else if (!shows && !is_script(o.script)) {
            return fail(line, unknown_word(o.script));
        }
    }
    // Modules that tools share, for tools of whatever folder.
    if (const std::string own = lua_directory(); !own.empty()) o.search_dirs.insert(o.search_dirs.begin(), own);
    const std::vector<std::string> script_args = rest;
    if (!rest.empty() && rest.front() == "--") rest.erase(rest.begin());
    o.args = rest;
    o.list = p.list;
    if (app.count("--vm") == 0) {
        if (!line.vm_add.empty()) fail(line, "--vm-add needs --vm");
        return;
    }
    line.action = CommandLine::Action::Vm;
    const auto empty = [](const char* arg) { return std::string_view(arg) == "--vm="; };
    if (std::any_of(argv + 1, argv + argc, empty))
        return fail(line, "--vm= names no kernel; --vm alone takes the newest");
    line.vm_kernel = p.vm == "newest" ? "" : p.vm;
    line.vm_argv = without_vm(argc, argv, script_args, !o.script.empty());
}

}  // namespace

std::vector<OptionHelp> options_help() {
    CommandLine line;
    CLI::App app(description, "kprobe-lua");
    Parsed parsed{.options = line.options, .line = line};
    define(app, parsed);
    std::vector<OptionHelp> rows;
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_positional()) continue;
        OptionHelp row;
        for (const std::string& name : option->get_snames()) row.names.push_back("-" + name);
        for (const std::string& name : option->get_lnames()) row.names.push_back("--" + name);
        row.value = option->get_option_text() == " " ? "" : option->get_option_text();
        row.help = option->get_description();
        row.environment = option->get_envname();
        rows.push_back(std::move(row));
    }
    return rows;
}

CommandLine parse_command_line(int argc, char** argv) {
    CommandLine line;
    CLI::App app(description, "kprobe-lua");
    Parsed parsed{.options = line.options, .line = line};
    define(app, parsed);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        line.action = CommandLine::Action::Help;
        line.text = app.help();
        return line;
    } catch (const CLI::ExtrasError& e) {
        fail(line, e.what() + near_option(app.remaining()));
        return line;
    } catch (const CLI::ParseError& e) {
        fail(line, e.what());
        return line;
    }
    settle(app, line, parsed, argc, argv);
    return line;
}

}  // namespace kpl
