// SPDX-License-Identifier: MIT
// Runs the VM cases: one boot of a kernel for all of them, another one for those that come after a crash, a
// hang or a case that left something in the kernel.
//
//   vm_tests --kernel 6.1 --title vm.6.1 --cases DIR --lib lib.sh --runner runner.sh [--program FILE]… [--modules DIR]
//            [--icount] [--slowness TIMES] [--add loop.ko]… [--let-through TEXT]… [--let-race FUNCTION]…
//            [NAME… | --part K/N]
//   vm_tests --host --cases DIR …           the cases run on this machine (and boot VMs of their own)
//
// A case passes when its script exits 0, the kernel's console shows no splat while it runs, and nothing of
// ours is left in the kernel after it; exit status 77 skips. A call trace behind a line with a TEXT is no splat, nor is
// a race that KCSAN reports with no frame of our modules but a stub's, or in a FUNCTION of the kernel: lines "let
// through CASE: …" count them. The last result, "end", is the VM's own end.
//
// QEMU emulates all CPUs on one thread. A case whose header says "# parallel: WHY" runs in a boot where each CPU has a
// thread of its own; a case that fails there while the emulator strays, and the console says nothing else of it, runs
// again on one thread, and that run counts.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/process.hpp"
#include "guest/guest.hpp"
#include "straying.hpp"

namespace fs = std::filesystem;
using namespace kpl;

namespace {

constexpr int skip_status = 77;
constexpr int max_dead_boots = 2;  // VMs that end before any case has started

struct Arguments {
    std::string kernel, title = "vm", cases, lib, runner, modules, root;
    std::string part;  // "1/2": every second case, from the first on; where none is named
    std::vector<std::string> programs, names, files, add, let_through, let_races;
    bool host = false;
    bool show = false;       // what passes, too
    bool icount = false;     // for cases that compare times: the VM's clock counts instructions
    int boot_limit = 1800;   // minutes, on a busy machine
    int quiet_limit = 1000;  // above every case's own limit, which the runner enforces
    int silence_limit = 180;
    int slowness = 1;  // how many times as long as on a usual kernel cases may take
};

enum class Verdict { pass, fail, skip };
constexpr const char* verdict_names[] = {"pass", "fail", "skip"};

struct Outcome {
    std::string name;
    Verdict verdict;
    double seconds = 0;
    std::string output;
    std::string again;  // why this is the case's second run; "" for a first one
};

// On a terminal, the case that runs and how many there are; the line goes when all is over.
class Progress {
  public:
    explicit Progress(std::size_t cases) : cases_(cases), shown_(isatty(STDERR_FILENO)) {}
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    void start(const std::string& name) {  // one that runs again counts once
        begun_.insert(name);
        show(fmt::format("{} of {}: {}", begun_.size(), cases_, name));
    }
    void clear() const { show({}); }

  private:
    void show(const std::string& text) const {
        if (shown_) fmt::print(stderr, "\r\033[K{}", text);
    }

    std::size_t cases_;
    bool shown_;
    std::set<std::string> begun_;
};

// Reads the runner's messages as they come (see runner.sh).
class RunnerOutput {
  public:
    explicit RunnerOutput(Progress& progress) : progress_(progress) {}
    void append(std::string_view bytes) {
        pending_.append(bytes);
        while (take_message()) continue;
    }
    const std::string& running() const { return running_; }  // "" between cases
    std::vector<Outcome>& outcomes() { return outcomes_; }

  private:
    // "@start NAME" or "@case NAME STATUS MILLISECONDS BYTES" and the bytes; false when it is not all there.
    bool take_message() {
        const auto end = pending_.find('\n');
        if (end == std::string::npos) return false;
        char name[128];
        int status, ms;
        std::size_t size;
        const std::string line = pending_.substr(0, end);
        if (std::sscanf(line.c_str(), "@case %127s %d %d %zu", name, &status, &ms, &size) == 4) {
            if (pending_.size() < end + 1 + size) return false;
            const Verdict verdict = status == 0 ? Verdict::pass : status == skip_status ? Verdict::skip : Verdict::fail;
            outcomes_.push_back({name, verdict, ms / 1000.0, pending_.substr(end + 1, size), {}});
            running_.clear();
            pending_.erase(0, end + 1 + size);
            return true;
        }
        if (std::sscanf(line.c_str(), "@start %127s", name) == 1) progress_.start(running_ = name);
        pending_.erase(0, end + 1);
        return true;
    }

    Progress& progress_;
    std::string pending_, running_;
    std::vector<Outcome> outcomes_;
};

// Each case whose part of the console has a splat, with the console from there on.
std::map<std::string, std::string> splats_by_case(const Console& console) {
    std::map<std::string, std::string> found;
    std::map<std::string, int> shown;
    const std::vector<std::string> lines = console.lines(), names = case_of_each(lines);
    const std::vector<std::size_t>& splats = console.splat_lines();
    for (std::size_t i = 0; i < lines.size(); i++) {
        const bool splat = std::binary_search(splats.begin(), splats.end(), i);
        if (!splat && !found.contains(names[i])) continue;
        if (shown[names[i]]++ < 60) found[names[i]] += "console: " + lines[i] + "\n";
    }
    return found;
}

// A line for each of the kernel's own races and the case during which it was reported.
void print_kernel_races(const Console& console) {
    std::map<std::pair<std::string, std::string>, int> found;
    const std::vector<std::string> lines = console.lines(), names = case_of_each(lines);
    for (const std::size_t race : console.kernel_races())
        found[{names[race], std::string(without_stamp(lines[race]))}]++;
    for (const auto& [race, times] : found) fmt::print("let through {}: {} × {}\n", race.first, times, race.second);
}

void fail_with(std::vector<Outcome>& outcomes, const std::string& name, const std::string& why) {
    const auto same = [&name](const Outcome& o) { return o.name == name; };
    auto it = std::find_if(outcomes.begin(), outcomes.end(), same);
    if (it == outcomes.end()) it = outcomes.insert(outcomes.end(), {name, Verdict::fail, 0, {}, {}});
    it->verdict = Verdict::fail;
    it->output += why;
}

// Cases that share a boot. What has run is taken out of `cases`.
struct Group {
    std::vector<std::string> cases;  // paths
    bool parallel = false;
    std::map<std::string, std::string> again{};  // case name: why it runs a second time
};

GuestSpec spec_for(const Arguments& args, const Group& group, RunnerOutput& output) {
    const std::vector<std::string>& cases = group.cases;
    GuestSpec spec;
    spec.kernel = args.kernel;
    spec.program = "/bin/busybox";
    spec.argv = {"sh", args.runner, "guest", args.lib};
    spec.argv.insert(spec.argv.end(), cases.begin(), cases.end());
    spec.cwd = "/";
    spec.parallel = group.parallel;
    spec.icount = args.icount;
    spec.files = {args.runner, args.lib};
    spec.files.insert(spec.files.end(), cases.begin(), cases.end());
    spec.files.insert(spec.files.end(), args.files.begin(), args.files.end());
    for (const auto& program : args.programs) {
        spec.files.push_back(program);
        spec.env.front().insert(5, fs::path(program).parent_path().string() + ":");  // after "PATH="
    }
    spec.add = args.add;
    spec.let_through = args.let_through;
    spec.let_races = args.let_races;
    spec.module_dir = args.modules;
    spec.env.push_back("KPL_ROOT=" + args.root);
    spec.env.push_back("KPL_MODULES=" + args.modules);
    spec.env.push_back(fmt::format("KPL_SLOWNESS={}", args.slowness));
    spec.env.push_back(group.parallel ? "KPL_PARALLEL=1" : "KPL_PARALLEL=");
    spec.limits.boot = args.boot_limit;
    spec.env.push_back("KPROBE_LUA_CPU_SHARE=100");  // an emulated CPU is slow: cases on overload ask for another
    spec.limits.quiet = args.quiet_limit * args.slowness;
    spec.limits.silence = args.silence_limit;
    spec.on_output = [&output](int, std::string_view bytes) { output.append(bytes); };
    return spec;
}

bool has_outcome(const std::vector<Outcome>& outcomes, const std::string& name) {
    return std::any_of(outcomes.begin(), outcomes.end(), [&](const Outcome& o) { return o.name == name; });
}

// Takes those that failed because the emulator's threads strayed out of the outcomes; the group runs them again, on one
// thread.
void take_back_strayed(const Console& console, Group& group, std::vector<Outcome>& outcomes) {
    const auto strayed = strayed_cases(console);
    std::erase_if(outcomes, [&](const Outcome& o) {
        if (o.verdict != Verdict::fail || !strayed.contains(o.name)) return false;
        group.again[o.name] = "the emulator strayed: " + strayed.at(o.name);
        group.parallel = false;
        return true;
    });
}

// Boots once for the group; what has not been run when the VM ends, or has to be run again, stays in it.
Result<std::vector<Outcome>> boot(const Arguments& args, Progress& progress, Group& group) {
    RunnerOutput output(progress);
    const GuestReport report = TRY(run_guest_report(spec_for(args, group, output)));
    if (report.status > 128 && !report.finished) {  // by a signal: nothing more is to run
        progress.clear();
        std::exit(report.status);
    }
    std::vector<Outcome> outcomes = std::move(output.outcomes());
    if (!report.failure.empty()) {
        const std::string tail = report.console.clean() ? report.console.excerpt(20) : "";  // a splat is shown below
        fail_with(outcomes, output.running().empty() ? no_case : output.running(), report.failure + "\n" + tail);
    }
    for (const auto& [name, text] : splats_by_case(report.console)) fail_with(outcomes, name, text);
    for (const auto& left : report.left) fail_with(outcomes, no_case, left + "\n");
    print_kernel_races(report.console);
    for (Outcome& outcome : outcomes)
        if (const auto why = group.again.find(outcome.name); why != group.again.end()) outcome.again = why->second;
    if (group.parallel) take_back_strayed(report.console, group, outcomes);
    std::erase_if(group.cases,
                  [&outcomes](const std::string& path) { return has_outcome(outcomes, fs::path(path).stem()); });
    return outcomes;
}

Result<void> run_group(const Arguments& args, Progress& progress, Group group, std::vector<Outcome>& all) {
    for (int dead = 0; !group.cases.empty() && dead < max_dead_boots;) {
        const std::size_t before = group.cases.size();
        const bool parallel = group.parallel;
        for (Outcome& outcome : TRY(boot(args, progress, group))) {
            if (outcome.name == no_case && has_outcome(all, no_case))
                fail_with(all, no_case, outcome.output);
            else
                all.push_back(std::move(outcome));
        }
        if (group.cases.size() == before && group.parallel == parallel) dead++;
    }
    for (const auto& path : group.cases)
        all.push_back({fs::path(path).stem(), Verdict::fail, 0, "no VM came to run it\n", {}});
    return {};
}

bool wants_parallel(const std::string& path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line) && line.starts_with("#");)
        if (line.starts_with("# parallel: ")) return true;
    return false;
}

Result<std::vector<Outcome>> run_in_vms(const Arguments& args, const std::vector<std::string>& cases) {
    Group one_thread{{}, false}, parallel{{}, true};
    for (const auto& path : cases) (wants_parallel(path) ? parallel : one_thread).cases.push_back(path);
    Progress progress(cases.size());
    std::vector<Outcome> all;
    TRY(run_group(args, progress, std::move(one_thread), all));
    TRY(run_group(args, progress, std::move(parallel), all));
    if (!has_outcome(all, no_case)) all.push_back({no_case, Verdict::pass, 0, {}, {}});
    return all;
}

Result<std::vector<Outcome>> run_on_host(const Arguments& args, const std::vector<std::string>& cases) {
    std::vector<std::string> argv{"/bin/sh", args.runner, "host", args.lib};
    argv.insert(argv.end(), cases.begin(), cases.end());
    std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
    for (const auto& program : args.programs) path = fs::path(program).parent_path().string() + ":" + path;
    setenv("PATH", path.c_str(), 1);
    setenv("KPL_ROOT", args.root.c_str(), 1);
    Progress progress(cases.size());
    RunnerOutput output(progress);
    output.append(TRY(program_output(argv)).text);
    if (!output.running().empty()) fail_with(output.outcomes(), output.running(), "the runner ended in this case\n");
    return std::move(output.outcomes());
}

// Each n-th, from the k-th on; false: `part` does not say k/n.
bool keep_part(std::vector<std::string>& cases, const std::string& part) {
    unsigned k = 0, n = 0;
    int end = 0;
    if (std::sscanf(part.c_str(), "%u/%u%n", &k, &n, &end) != 2 || part[end] != '\0' || k == 0 || k > n) return false;
    std::vector<std::string> kept;
    for (std::size_t i = k - 1; i < cases.size(); i += n) kept.push_back(cases[i]);
    cases = std::move(kept);
    return true;
}

// Those that the arguments name, or all, or a part of them; none where one of the names is no case.
std::vector<std::string> find_cases(const Arguments& args) {
    std::vector<std::string> found;
    for (const std::string& name : args.names) {
        const fs::path path = fs::path(args.cases) / (name + ".sh");
        if (!fs::exists(path)) {
            fmt::print(stderr, "no case {} in {}\n", name, args.cases);
            return {};
        }
        found.push_back(fs::absolute(path));
    }
    if (args.names.empty())
        for (const auto& entry : fs::directory_iterator(args.cases))
            if (entry.path().extension() == ".sh") found.push_back(fs::absolute(entry.path()));
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    if (args.names.empty() && !args.part.empty() && !keep_part(found, args.part)) {
        fmt::print(stderr, "no part of cases: {}\n", args.part);
        return {};
    }
    if (found.empty()) fmt::print(stderr, "no cases in {}\n", args.cases);
    return found;
}

bool parse(int argc, char** argv, Arguments& args) {
    const std::map<std::string_view, std::string*> texts{
        {"--kernel", &args.kernel}, {"--title", &args.title},     {"--cases", &args.cases}, {"--lib", &args.lib},
        {"--runner", &args.runner}, {"--modules", &args.modules}, {"--root", &args.root},   {"--part", &args.part}};
    const std::map<std::string_view, int*> numbers{
        {"--quiet-limit", &args.quiet_limit}, {"--silence-limit", &args.silence_limit}, {"--slowness", &args.slowness}};
    const std::map<std::string_view, std::vector<std::string>*> lists{{"--program", &args.programs},
                                                                      {"--file", &args.files},
                                                                      {"--add", &args.add},
                                                                      {"--let-through", &args.let_through},
                                                                      {"--let-race", &args.let_races}};
    for (int i = 1; i < argc; i++) {
        const std::string_view arg = argv[i];
        if (arg == "--host")
            args.host = true;
        else if (arg == "--icount")
            args.icount = true;
        else if (arg == "--show")
            args.show = true;
        else if (!arg.starts_with("--"))
            args.names.emplace_back(arg);
        else if (i + 1 == argc)
            return false;
        else if (texts.contains(arg))
            *texts.at(arg) = argv[++i];
        else if (numbers.contains(arg))
            *numbers.at(arg) = std::atoi(argv[++i]);
        else if (lists.contains(arg))
            lists.at(arg)->emplace_back(argv[++i]);
        else
            return false;
    }
    return !args.cases.empty() && !args.lib.empty() && !args.runner.empty();
}

// A line for each outcome, with the output of what did not pass, or of all; and in tests/check's form where it asks for
// it.
bool report(const Arguments& args, const std::vector<Outcome>& outcomes) {
    const std::string& title = args.title;
    bool good = true;
    const char* dir = std::getenv("KPL_TEST_REPORTS");
    std::ofstream file(dir ? fmt::format("{}/{}", dir, title) : "/dev/null");
    for (const Outcome& o : outcomes) {
        const char* verdict = verdict_names[static_cast<int>(o.verdict)];
        good = good && o.verdict != Verdict::fail;
        fmt::print("{} {} ({:.1f} s)\n", verdict, o.name, o.seconds);
        if (!o.again.empty()) {
            fmt::print("again {}: {}\n", o.name, o.again);
            file << "again " << title << " " << o.name << "\n";
        }
        if (args.show || o.verdict != Verdict::pass)
            fmt::print("{}{}", o.output, o.output.empty() || o.output.ends_with('\n') ? "" : "\n");
        file << verdict << " " << title << " " << o.name << "\n";
    }
    file << "end\n";
    return good;
}

}  // namespace

int main(int argc, char** argv) {
    Arguments args;
    if (!parse(argc, argv, args)) {
        fmt::print(stderr, "usage: {} (--kernel K | --host) --cases DIR --lib FILE --runner FILE [NAME…]\n", argv[0]);
        return 2;
    }
    const std::vector<std::string> cases = find_cases(args);
    if (cases.empty()) return 2;
    const auto outcomes = args.host ? run_on_host(args, cases) : run_in_vms(args, cases);
    if (!outcomes) {
        fmt::print(stderr, "{}\n", outcomes.error().message());
        return 1;
    }
    return report(args, *outcomes) ? 0 : 1;
}
