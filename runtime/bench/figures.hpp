// SPDX-License-Identifier: MIT
// The figures of `kprobe-lua bench`, and how they are shown.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kpl {

// What is called, and so how it is hit.
enum class Load {
    Stepped,  // the module's functions
    Boosted,
    Optimized,
    Traced,
    Stores,
    Syscall,  // getpgid()
    Rename,   // prctl(PR_SET_NAME)
    Program,  // a function of this program
    Mark,     // a mark of this program
    Fault,    // a page is touched for the first time
    Spin,     // the module's function; what hits is a clock or a counter
};

struct BenchRow {
    const char* name;
    Load load;
    const char* state;
    const char* what;
    const char* script;
};
std::span<const BenchRow> bench_rows();

constexpr size_t recorded_columns = 9;  // the first rows
struct Recorded {
    const char *machine, *source;
    unsigned ns[recorded_columns];  // 0: the document has none
};
std::span<const Recorded> recorded();

// Of several rounds: the median, and between which two values the middle half lies.
struct Figure {
    double median = 0, low = 0, high = 0;
};
Figure figure_of(std::vector<double> rounds);

// One round: calls of the load, and what they took.
struct Round {
    uint64_t calls = 0, hits = 0;
    double ns = 0;
    std::optional<double> instructions;
};

// What a row came to: figures, or why there are none.
struct Measured {
    std::optional<Figure> ns, instructions;
    uint64_t hits = 0;
    std::string why;
};
// What a hit takes beside the call: `with` the probes against rounds without.
Measured measured(std::span<const Round> without, std::span<const Round> with);

struct BenchReport {
    std::string kernel, cpu;
    std::string no_instructions;      // why none are counted; empty: they are
    std::vector<Measured> rows;       // of bench_rows()
    std::vector<std::string> doubts;  // what disturbs the figures
};
std::string print_bench(const BenchReport& report);
std::string json_bench(const BenchReport& report);

}  // namespace kpl
