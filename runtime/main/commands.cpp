// SPDX-License-Identifier: MIT
#include "main/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "bench/bench.hpp"
#include "hints/other_tracers.hpp"
#include "inspect/foreign_events.hpp"
#include "inspect/functions.hpp"
#include "inspect/inspector.hpp"
#include "inspect/knobs.hpp"
#include "inspect/print_function.hpp"
#include "inspect/print_lists.hpp"
#include "inspect/system_probes.hpp"
#include "main/doctor.hpp"
#include "output/sink.hpp"
#include "repl/help.hpp"
#include "session/program_places.hpp"
#include "session/session.hpp"
#include "session/sources.hpp"
#include "symbols/glob.hpp"
#include "symbols/nearest.hpp"

namespace kpl {
namespace {

using Words = std::vector<std::string>;

struct Context {
    const CommandLine& line;
    Words args;  // behind the command's name
    Sink sink;   // stdout
    KernelView kernel{line.options.btf_dir};
    Kallsyms& symbols = kernel.symbols;
    Types& types = kernel.types;

    bool json() const { return line.options.format->lists_are_json(); }
};

Result<int> disasm(Context& c) {
    if (c.args.empty()) return Error{Errc::usage, "disasm takes a function: kprobe-lua disasm vfs_read"};
    Inspector inspector = TRY(Inspector::open(c.symbols, c.types));
    bool first = true;
    for (const std::string& target : c.args) {
        const FunctionView view = TRY(inspector.function(target));
        if (!first && !c.json()) c.sink.write("\n");
        first = false;
        c.sink.write(c.json() ? TRY(json_function(view, c.symbols)) : TRY(print_function(view, c.symbols)));
    }
    return 0;
}

Result<int> list_probes(Context& c) {
    const auto probes = TRY(system_probes(c.symbols, c.types));
    c.sink.write(c.json() ? json_probes(probes) : print_probes(probes));
    const auto calls = calls_under_way();
    c.sink.write(c.json() ? json_calls(calls) : print_calls(calls));
    return 0;
}

// What others probe by trace events, as a script.
Result<int> list_as_script(Context& c) {
    const auto address_of = [](const std::string& path, uint64_t offset) -> std::optional<uint64_t> {
        const auto program = Program::open(path, host_arch().elf_machine);
        return program ? (*program)->address_of(offset) : std::nullopt;
    };
    c.sink.write(print_as_script(TRY(read_foreign_events()), address_of));
    return 0;
}

Result<int> list_blacklist(Context& c) {
    const std::string pattern = c.args.empty() ? "*" : c.args.front();
    const Blacklist blacklist = TRY(Blacklist::read());
    std::vector<BlacklistRange> found;
    for (const BlacklistRange& range : blacklist.ranges())
        if (glob_match(pattern, range.name)) found.push_back(range);
    if (found.empty()) return Error{Errc::system, fmt::format("nothing on the blacklist matches '{}'", pattern)};
    c.sink.write(c.json() ? json_blacklist(found) : print_blacklist(found));
    return 0;
}

// What else than functions can be probed. -l asks for it by the prefix.
struct ListedKind {
    const char *words, *prefix;
    ProbeKind kind;
};
constexpr ListedKind listed_kinds[] = {
    {"tracepoints", "tracepoint:", ProbeKind::Tracepoint},
    {"syscalls", "syscall:", ProbeKind::Syscall},
    {"uprobes", "uprobe:", ProbeKind::Uprobe},
    {"usdts", "usdt:", ProbeKind::Usdt},
};

Result<int> list_places(Context& c, ProbeKind kind, const std::string& pattern) {
    ProbeDecl probe;
    probe.kind = kind;
    probe.targets.emplace_back(pattern);
    const Resolved found = TRY(resolve(probe, c.kernel, BlacklistOnDemand(), true));
    std::string last;  // a mark has several places
    for (const KernelPlace& place : found.places) {
        const auto signature =
            c.line.options.verbose ? TRY(signature_at(probe_kind(kind).source, place, c.types)) : std::nullopt;
        const bool of_program = place.special->program && c.line.options.verbose;
        const std::string declaration = signature ? signature->text : of_program ? program_place_text(place) : "";
        std::string line =
            c.json() ? json_place(place.text(), place.address, declaration) : print_place(place.text(), declaration);
        if (line != last) c.sink.write(line);
        last = std::move(line);
    }
    return 0;
}

Result<int> list_functions(Context& c) {
    const std::string pattern = c.args.empty() ? "*" : c.args.front();
    for (const ListedKind& kind : listed_kinds)
        if (pattern.starts_with(kind.prefix))
            return list_places(c, kind.kind, pattern.substr(std::string_view(kind.prefix).size()));
    const auto found = TRY(probeable_functions(c.symbols, pattern));
    Types* types = c.line.options.verbose ? &c.types : nullptr;
    if (found.empty()) {
        const auto theirs = foreign_target(pattern);
        return Error{Errc::system, fmt::format("no function that can be probed matches '{}'{}", pattern,
                                               theirs ? ": " + *theirs : "")};
    }
    c.sink.write(c.json() ? json_functions(found, types) : print_functions(found, types));
    return 0;
}

Result<int> list(Context& c) {
    const std::string what = c.args.empty() ? "probes" : c.args.front();
    if (!c.args.empty()) c.args.erase(c.args.begin());
    if (what == "--lua" && c.args.empty()) return list_as_script(c);
    if (what == "probes") return list_probes(c);
    if (what == "blacklist") return list_blacklist(c);
    if (what == "functions") return list_functions(c);
    for (const ListedKind& kind : listed_kinds)
        if (what == kind.words) return list_places(c, kind.kind, c.args.empty() ? "*" : c.args.front());
    return Error{
        Errc::usage,
        fmt::format(
            "there is no list of '{}': list probes, blacklist, functions, tracepoints, syscalls, uprobes or usdts",
            what)};
}

Result<int> bench(Context& c) { return kpl::bench(c.line.options, c.json()); }
Result<int> doctor(Context&) { return kpl::doctor(); }
Result<int> info(Context&) { return kpl::info(); }

Result<int> knobs(Context& c) {
    if (c.args.empty()) {
        c.sink.write(c.json() ? json_knobs() : print_knobs());
        return 0;
    }
    const Knob* const knob = find_knob(c.args[0]);
    if (!knob) {
        Nearest nearest(c.args[0]);
        for (const Knob& one : kpl::knobs()) nearest.offer(one.name);
        return Error{Errc::usage, fmt::format("there is no knob '{}'{}; kprobe-lua knobs lists them", c.args[0],
                                              did_you_mean(nearest.names()))};
    }
    if (c.args.size() == 2) TRY(set_knob(*knob, c.args[1]));
    c.sink.write(c.json() ? json_knob(*knob) : print_knob(*knob));
    return 0;
}

// kprobe-lua events SCRIPT [--install], kprobe-lua events --remove
Result<int> events(Context& c) {
    if (c.args == Words{"--remove"}) {
        const size_t count = TRY(remove_trace_events());
        c.sink.write(fmt::format("{} events of the group {} removed\n", count, trace_group));
        return 0;
    }
    const bool installs = c.args.size() == 2 && c.args[1] == "--install";
    if (c.args.empty() || c.args[0].starts_with('-') || (c.args.size() == 2 && !installs))
        return Error{Errc::usage, "events takes a script, and --install or nothing; or --remove alone"};
    SilentClient silent;
    const auto session = TRY(Session::open(c.line.options, silent));
    TRY(session->run_file(c.args[0], {}));
    const auto found = TRY(session->trace_events());
    if (installs) TRY(install(found));
    c.sink.write(print(found));
    const auto whole = [](const TraceEvent& event) { return !event.definition.empty(); };
    return std::all_of(found.begin(), found.end(), whole) ? 0 : 1;
}

// What the prompt's ?NAME shows.
Result<int> help(Context& c) {
    constexpr size_t columns = 80;
    SilentClient silent;
    const auto session = TRY(Session::open(c.line.options, silent));
    Help help(session->host(), session->kernel());
    const std::string name = c.args.empty() ? "" : c.args.front();
    if (!name.empty() && !help.find(name, columns)) return Error{Errc::system, help.about(name, columns)};
    c.sink.write(help.about(name, columns) + "\n");
    return 0;
}

struct CommandRow {
    const char* name;
    size_t most_args;
    bool json;  // -f json changes what it prints
    Result<int> (*run)(Context&);
};
constexpr CommandRow commands[] = {
    {"bench", 0, true, bench},
    {"disasm", 1000, true, disasm},
    {"list", 2, true, list},
    {"doctor", 0, false, doctor},
    {"events", 2, false, events},
    {"help", 1, false, help},
    {"knobs", 2, true, knobs},
    // Options, not words: parse_command_line() leads here.
    {"-l", 1, true, list_functions},
    {"--info", 0, false, info},
};

const CommandRow* row_of(std::string_view name) {
    return std::find_if(std::begin(commands), std::end(commands), [&](const auto& row) { return row.name == name; });
}

}  // namespace

std::vector<std::string_view> command_names() {
    std::vector<std::string_view> names;
    for (const CommandRow& row : commands)
        if (row.name[0] != '-') names.emplace_back(row.name);
    return names;
}

bool is_listed(std::string_view word) {
    return std::any_of(std::begin(listed_kinds), std::end(listed_kinds),
                       [&](const ListedKind& kind) { return word.starts_with(kind.prefix); });
}

bool is_command(std::string_view word) { return !word.starts_with('-') && row_of(word) != std::end(commands); }

bool has_json(const std::vector<std::string>& command) {
    return row_of(command.front())->json && command != Words{"list", "--lua"};
}

Result<int> run_command(const CommandLine& line) {
    const std::string& name = line.inspect.front();
    const CommandRow* const row = row_of(name);
    Context context{line, Words(line.inspect.begin() + 1, line.inspect.end()), TRY(Sink::open("", Buffering::Full))};
    for (const std::string& arg : context.args)
        if (arg.starts_with('-') && arg != "--install" && arg != "--remove" && arg != "--lua")
            return Error{Errc::usage, fmt::format("options stand before the command: kprobe-lua {} {} …", arg, name)};
    if (context.args.size() > row->most_args)
        return Error{Errc::usage, fmt::format("{}: one argument too many: '{}'", name, context.args.back())};
    auto status = row->run(context);
    const auto written = context.sink.end();
    return status && !written ? written.error() : status;
}

}  // namespace kpl
