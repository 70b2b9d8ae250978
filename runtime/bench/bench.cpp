// SPDX-License-Identifier: MIT
#include "bench/bench.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "base/device_users.hpp"
#include "bench/doubts.hpp"
#include "bench/figures.hpp"
#include "bench/loads.hpp"
#include "command/loop.hpp"
#include "inspect/kernel_rules.hpp"
#include "inspect/knobs.hpp"
#include "inspect/system_probes.hpp"
#include "session/session.hpp"
#include "uapi/kprobe_lua.h"

namespace kpl {
namespace {

constexpr size_t rounds = 9;
constexpr double round_ns = 2e6, spin_ns = 2e7;  // what a round takes, about
constexpr uint64_t few_calls = 64;
constexpr uint64_t patience_ns = 5000000000;  // the kernel optimizes some time after a probe is placed
constexpr const char* stopped_why = "not measured: interrupted";

// A kernel's place that is called here and, for others, should not be probed.
bool is_ours(std::string_view place) {
    return place.find("kpl_bench_") != place.npos || place.find("sys_getpgid") != place.npos;
}

class ProgressLine {
  public:
    ProgressLine() : terminal_(::isatty(STDERR_FILENO)) {}
    ProgressLine(const ProgressLine&) = delete;
    ~ProgressLine() {
        if (terminal_) std::fputs("\r\033[K", stderr);
    }
    void show(size_t done, size_t all, const char* what) const {
        if (terminal_) std::fprintf(stderr, "\r\033[K%zu of %zu: %s", done + 1, all, what);
    }

  private:
    bool terminal_;
};

// "bench:2: can't probe kpl_bench_traced: why", and perhaps more lines.
std::string without_place(const std::string& text) {
    constexpr std::string_view mark = ": can't probe ";
    const std::string first = text.substr(0, text.find('\n'));
    const size_t at = first.find(mark), why = at == first.npos ? at : first.find(": ", at + mark.size());
    return why == first.npos ? first : first.substr(why + 2);
}

// Each line once.
void add(std::vector<std::string>& doubts, const std::vector<std::string>& more) {
    for (const std::string& doubt : more)
        if (std::find(doubts.begin(), doubts.end(), doubt) == doubts.end()) doubts.push_back(doubt);
}

// The probes of one row while they are armed.
struct Hits {
    uint64_t least = 0, most = 0, missed = 0;
};

class Bench {
  public:
    static Result<BenchReport> run(const Options& given);

  private:
    Bench(Session& session, const Device& device, std::string own)
        : session_(session), loads_(device), own_(std::move(own)) {}
    Result<Measured> row(const BenchRow& row);
    Result<Measured> armed_row(const BenchRow& row, const std::vector<Round>& without);
    Result<uint64_t> calls_for(Load load);
    Result<std::string> settle(const BenchRow& row);
    Result<Hits> hits();

    Session& session_;
    Loads loads_;
    std::string own_;
    std::vector<uint32_t> probes_;  // of the row
    std::vector<std::string> doubts_;
};

// Calls of which a round has so many that it lasts.
Result<uint64_t> Bench::calls_for(Load load) {
    const auto few = TRY(loads_.run(load, few_calls));
    if (!few) return uint64_t{0};
    const double wanted = load == Load::Spin ? spin_ns : round_ns;
    const double calls = wanted * static_cast<double>(few->calls) / std::max(few->ns, 1.0);
    return std::clamp(static_cast<uint64_t>(calls), few_calls, uint64_t{KPL_MAX_BENCH});
}

Result<Hits> Bench::hits() {
    Hits all{UINT64_MAX, 0, 0};
    for (const uint32_t probe : probes_) {
        const ProbeStatus status = TRY(session_.status(probe));
        const uint64_t handled = std::max(status.first.handled, status.second.handled);
        all.least = std::min(all.least, handled);
        all.most = std::max(all.most, handled);
        all.missed += status.first.missed + status.second.missed;
    }
    return all;
}

// Why the probes are not what the row is about; empty: they are.
Result<std::string> Bench::settle(const BenchRow& row) {
    if (!*row.state) return std::string();
    const bool optimized = std::string_view(row.state) == "optimized";
    if (optimized && read_knob(*find_knob("optimization")).value_or("") == "0")
        return std::string("jump optimization is off: kprobe-lua knobs optimization 1 switches it on");
    const uint64_t began = monotonic_ns();
    for (;;) {
        std::string state;
        for (const uint32_t probe : probes_)
            if (const std::string now = TRY(session_.status(probe)).state; now != row.state) state = now;
        if (state.empty()) return state;
        if (Loop::end_asked()) return std::string(stopped_why);
        if (!optimized || monotonic_ns() - began > patience_ns)
            return fmt::format("the kernel made it '{}', not '{}'", state, row.state);
        ::usleep(1000);
    }
}

Result<Measured> Bench::armed_row(const BenchRow& row, const std::vector<Round>& without) {
    Measured out;
    out.why = TRY(settle(row));
    if (!out.why.empty()) return out;
    const bool counted = row.load == Load::Spin;  // hits are not calls
    const uint64_t calls = counted ? without.front().calls : TRY(calls_for(row.load));
    std::vector<Round> with;
    while (with.size() < rounds && !Loop::end_asked()) {
        const Hits before = TRY(hits());
        auto round = TRY(loads_.run(row.load, calls));
        if (!round) break;
        const Hits after = TRY(hits());
        round->hits = counted ? after.least - before.least : round->calls;
        if (!counted && after.least - before.least < round->calls) {
            out.why = fmt::format("{} of {} calls were handled, {} missed", after.least - before.least, round->calls,
                                  after.missed - before.missed);
            return out;
        }
        if (!counted && after.most - before.most > round->calls)
            add(doubts_, {fmt::format("{}: others hit it, too", row.name)});
        with.push_back(*round);
    }
    if (with.size() == rounds) return measured(without, with);
    out.why = stopped_why;
    return out;
}

Result<Measured> Bench::row(const BenchRow& row) {
    Measured out;
    if (row.load == Load::Boosted)
        if (const auto rules = kernel_rules(session_.kernel().symbols, kernel_release()); rules && rules->preemption) {
            out.why = "this kernel boosts nothing: it is preemptible (CONFIG_PREEMPTION)";
            return out;
        }
    const uint64_t calls = TRY(calls_for(row.load));
    std::vector<Round> without;
    while (calls && without.size() < rounds && !Loop::end_asked()) {
        const auto round = TRY(loads_.run(row.load, calls));
        if (!round) break;
        without.push_back(*round);
    }
    if (without.size() < rounds) {
        out.why = stopped_why;
        return out;
    }
    const auto first = static_cast<uint32_t>(session_.declared().probes().size());
    const std::string script =
        fmt::format("local hits, self, cpu = count(), [[{}]], {}\n{}", own_, ::sched_getcpu(), row.script);
    auto done = session_.run_string(script, "=bench", {});
    if (done) done = session_.arm();
    if (!done) {
        out.why = without_place(done.error().text);
        return out;
    }
    probes_.resize(session_.declared().probes().size() - first);
    std::iota(probes_.begin(), probes_.end(), first);
    auto found = armed_row(row, without);
    TRY(session_.control(probes_, KPL_CTL_DETACH));
    return found;
}

std::vector<std::string> others() {
    std::vector<std::string> doubts;
    if (const auto probes = read_probe_list())
        for (const ListedProbe& probe : *probes)
            if (is_ours(probe.place)) doubts.push_back(fmt::format("{}: probed by others, too", probe.place));
    if (const auto traced = read_traced())
        for (const TracedFunction& one : *traced)
            if (is_ours(one.name)) doubts.push_back(fmt::format("{}: traced by others, too", one.name));
    const auto pids = device_users(KPL_DEVICE);
    const auto own = std::count(pids.begin(), pids.end(), ::getpid());
    if (const auto n = static_cast<long>(pids.size()) - own; n > 0)
        doubts.push_back(fmt::format("{} other process{} probing (kprobe-lua list)", n, n == 1 ? " is" : "es are"));
    return doubts;
}

// The first one: interval runs there.
void stay_on_one_cpu() {
    cpu_set_t all, one;
    if (::sched_getaffinity(0, sizeof all, &all) != 0) return;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    ::sched_setaffinity(0, sizeof one, &one);
}

Result<BenchReport> Bench::run(const Options& given) {
    Options options;
    options.btf_dir = given.btf_dir;
    options.search_dirs = given.search_dirs;
    options.cpu_share = KPL_SHARE_OFF;  // nothing but hits, for seconds
    const Device device = TRY(Device::open());
    const Loop loop = TRY(Loop::create());
    SilentClient silent;
    const auto session = TRY(Session::open(options, silent));
    stay_on_one_cpu();

    BenchReport report;
    utsname name{};
    ::uname(&name);
    report.kernel = fmt::format("Linux {} {}", name.release, name.machine);
    report.cpu = processor_name();
    add(report.doubts, machine_doubts());
    add(report.doubts, others());
    const Interference interference;
    Bench bench(*session, device, TRY(Loads::own_function()));
    report.no_instructions = bench.loads_.counter().why_not();
    const auto all = bench_rows();
    {
        const ProgressLine progress;
        for (size_t i = 0; i < all.size(); i++) {
            progress.show(i, all.size(), all[i].what);
            report.rows.push_back(TRY(bench.row(all[i])));
        }
    }
    TRY(session->stop(false));
    add(report.doubts, bench.doubts_);
    add(report.doubts, interference.doubts());
    add(report.doubts, others());
    return report;
}

}  // namespace

Result<int> bench(const Options& options, bool json) {
    const BenchReport report = TRY(Bench::run(options));
    const std::string text = json ? json_bench(report) : print_bench(report);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
}

}  // namespace kpl
