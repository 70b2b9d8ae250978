// SPDX-License-Identifier: MIT
// Figures of `kprobe-lua bench`: medians, what is subtracted, when there is none; the table and its JSON.
#include "bench/figures.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "base/json_line.hpp"
#include "bench/doubts.hpp"
#include "bench/loads.hpp"
#include "ir/probe_kinds.hpp"
#include "temp_dir.hpp"

using namespace kpl;
using namespace kpl::test;

namespace {

std::vector<Round> rounds(uint64_t calls, uint64_t hits, const std::vector<double>& ns, bool counted = false) {
    std::vector<Round> out;
    for (const double one : ns) out.push_back({calls, hits, one, counted ? std::optional(2 * one) : std::nullopt});
    return out;
}

BenchReport report() {
    BenchReport made;
    made.kernel = "Linux 6.1 x86_64";
    made.cpu = "a processor";
    made.no_instructions = "none here";
    made.rows.resize(bench_rows().size());
    for (Measured& row : made.rows) row.why = "not tried";
    made.rows[0] = {Figure{980.4, 970, 990}, Figure{4, 3, 5}, 700, ""};
    made.doubts = {"other work"};
    return made;
}

bool has_line(const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("the median of rounds, and their middle half") {
    CHECK(figure_of({5, 1, 3}).median == 3);
    CHECK(figure_of({4, 1, 2, 3}).median == 2.5);
    const Figure figure = figure_of({1, 2, 3, 4, 100});
    CHECK(figure.median == 3);
    CHECK(figure.low == 2);
    CHECK(figure.high == 4);
    CHECK(figure_of({}).median == 0);
}

TEST_CASE("what the calls take by themselves is subtracted") {
    // 2 ns a call; with the probe 52
    const auto without = rounds(1000, 0, {1990, 2000, 2010}, true), with = rounds(100, 100, {5200, 5100, 9900}, true);
    const Measured row = measured(without, with);
    REQUIRE(row.ns);
    CHECK(row.ns->median == Approx(50));
    CHECK(row.instructions->median == Approx(100));
    CHECK(row.hits == 300);
    CHECK(row.why.empty());
    // a clock's hits are fewer than the calls that it interrupts
    CHECK(measured(rounds(1000, 0, {2000, 2000}), rounds(1000, 10, {2500, 2500})).ns->median == Approx(50));
}

TEST_CASE("no figure is better than one that means nothing") {
    const auto quiet = rounds(100, 0, {200, 200, 200});
    CHECK_FALSE(measured(quiet, rounds(100, 100, {200, 190, 200})).ns);
    CHECK(measured(quiet, rounds(100, 100, {200, 190, 200})).why ==
          "the calls alone differ by more, from round to round");
    CHECK_FALSE(measured(rounds(100, 0, {100, 300, 500}), rounds(100, 100, {310, 310, 310})).ns);
    CHECK(measured(quiet, rounds(100, 0, {300, 300, 300})).why == "no hit in all the rounds");
    CHECK_FALSE(measured(quiet, rounds(100, 100, {300, 300, 300})).instructions);
}

TEST_CASE("the rows are the documents', then each kind of probe") {
    std::set<std::string> names, declared;
    for (const BenchRow& row : bench_rows()) {
        CHECK(names.insert(row.name).second);
        for (const ProbeKindRow& kind : probe_kinds)
            if (std::string(row.script)
                    .find(std::string(kind.name) + (kind.name == std::string("jprobe") ? "(" : "")) !=
                std::string::npos)
                declared.insert(kind.name);
    }
    for (const ProbeKindRow& kind : probe_kinds)
        if (kind.name != std::string("test_probe")) CHECK(declared.contains(kind.name));
    const std::vector<std::string> documented = {"k", "b", "o", "r", "rb", "ro", "kr", "j", "jr"};
    REQUIRE(documented.size() == recorded_columns);
    for (size_t i = 0; i < documented.size(); i++) CHECK(bench_rows()[i].name == documented[i]);
    for (const Recorded& row : recorded()) CHECK(row.ns[0] > 0);
}

TEST_CASE("the table") {
    const std::string text = print_bench(report());
    CHECK(
        has_line(text, "k                980       970 to 990           4.0  kprobe, its instruction single-stepped"));
    CHECK(has_line(
        text, "b                  -                -             -  kprobe, boosted: not single-stepped: not tried"));
    CHECK(has_line(text,
                   "this one                          980      -      -      -      -      -      -      -      -"));
    CHECK(has_line(text,
                   "x86-64, Xeon E5410, 2.33 GHz      990    430     60   1240    680    300                       "
                   "Documentation/trace/kprobes.rst"));
    CHECK(has_line(text, "Instructions are not counted: none here"));
    CHECK(has_line(text, "  other work"));
}

TEST_CASE("the same as JSON") {
    std::istringstream lines(json_bench(report()));
    size_t rows = 0, known = 0, doubts = 0;
    for (std::string line; std::getline(lines, line);) {
        const Json one = Json::parse(line);
        if (one["type"] == "bench" && rows++ == 0) {
            CHECK(one["data"]["ns"]["median"] == 980.4);
            CHECK(one["data"]["why"].is_null());
        } else if (one["type"] == "bench") {
            CHECK(one["data"]["ns"].is_null());
            CHECK(one["data"]["why"] == "not tried");
        }
        known += one["type"] == "bench_recorded" && one["data"]["ns"]["k"] > 0;
        doubts += one["type"] == "bench_doubt";
    }
    CHECK(rows == bench_rows().size());
    CHECK(known == recorded().size());
    CHECK(doubts == 1);
}

TEST_CASE("what disturbs, by the machine's files") {
    const TempDir root;
    const auto put = [&](const std::string& path, const std::string& text) { root.write(path, text + "\n"); };
    CHECK(machine_doubts(root.path()).empty());
    put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu hypervisor sse");
    put("proc/loadavg", "2.50 1.00 0.50 1/100 5");
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave");
    put("proc/sys/debug/kprobes-optimization", "0");
    CHECK(processor_name(root.path()) == "Some CPU");
    const auto doubts = machine_doubts(root.path());
    REQUIRE(doubts.size() == 4);
    CHECK(doubts[0].starts_with("a virtual machine"));
    CHECK(doubts[1].find("powersave") != std::string::npos);
    CHECK(doubts[2] == "other work: a load of 2.5");
    CHECK(doubts[3].find("kprobe-lua knobs optimization 1 ends that") != std::string::npos);
}

TEST_CASE("the function of this program that a uprobe hits") {
    const auto target = Loads::own_function();
    REQUIRE(target);
    CHECK(target->find(":0x") != std::string::npos);
}
