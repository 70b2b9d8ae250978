// SPDX-License-Identifier: MIT
// What verifying and rewriting takes for each instruction, in programs of 64 to 4,096: the least of all rounds, and how
// many times as long it is in the longest as in the shortest, the median of all rounds: it must not grow with their
// length.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/core.h"
#include "simulator/asm.hpp"

namespace {

using namespace kpl;

// `body` is repeated as often as it fits; {0} in it is a number of its own.
struct Shape {
    const char *name, *head, *body;
    size_t length;  // instructions of the body
};

constexpr Shape shapes[] = {
    {"arithmetic", "r0 = 1\n", "r0 += 7\nr0 *= r0\n", 2},
    {"divisions", "r0 = 1\nr2 = 3\n", "r0 /= r2\n", 1},
    {"the stack, all of it", "r0 = 1\n*(u64 *)(r10 - 512) = 1\n", "*(u64 *)(r10 - 8) = 1\nr0 = *(u64 *)(r10 - 512)\n",
     2},
    {"jumps that meet at once", "r0 = 1\n", "if r0 == 7 goto at{0}\nr0 += 1\nat{0}: r0 += 2\n", 3},
    {"jumps that meet at the end", "r0 = 1\n", "if r0 == 7 goto out\n", 1},
    {"calls", "r6 = r1\n", "call now\n", 1},
    {"loops", "r0 = 1\n",
     "at{0}: {{r0=num}}\nif r0 > 9 goto out{0}\nr0 += 1\ngoto at{0}\nout{0}: r0 = 1\n"
     "r0 = 1\nr0 = 1\nr0 = 1\nr0 = 1\nr0 = 1\nr0 = 1\nr0 = 1\nr0 = 1\nr0 = 1\nr0 = 1\nr0 = 1\nr0 = 1\n",
     16},
};

std::string program(const Shape& shape, size_t length) {
    std::string text = shape.head;
    const auto head = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
    for (size_t i = 0; head + (i + 1) * shape.length + 1 <= length; i++)
        text += fmt::format(fmt::runtime(shape.body), i);
    return text + "out: exit\n";
}

constexpr size_t window = 4096;  // instructions that are timed together, in programs of each length

// A program, and what an instruction of it has taken, in ns: in each round.
struct Measured {
    explicit Measured(Assembly assembly)
        : code(std::move(assembly)),
          // On a page of its own, as in the kernel: where it lies makes up to 15 %.
          ws(std::aligned_alloc(page, (kpl_verify_ws_size(nr_insns()) + page - 1) / page * page)),
          out(KPL_MAX_SLOTS) {}

    u32 nr_insns() const { return static_cast<u32>(code.insns.size()); }

    static constexpr size_t page = 4096;
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    Assembly code;
    std::unique_ptr<void, Free> ws;
    std::vector<bpf_insn> out;
    std::vector<double> took;
};

bool verify_and_rewrite(Measured& m) {
    struct kpl_verify v {};
    v.insns = m.code.insns.data();
    v.labels = m.code.labels.data();
    v.nr_insns = m.nr_insns();
    v.nr_labels = static_cast<u32>(m.code.labels.size());
    v.budget = KPL_MAX_BUDGET;
    v.ws = static_cast<kpl_verify_ws*>(m.ws.get());
    u32 slots;
    if (!kpl_verify(&v) && !kpl_rewrite(&v, m.out.data(), KPL_MAX_SLOTS, &slots, nullptr)) return true;
    fmt::print(stderr, "refused: {} at {}\n", kpl_reject_text(v.reject), v.reject_pc);
    return false;
}

bool measure(Measured& m) {
    if (!verify_and_rewrite(m)) return false;  // it's in the caches now
    u32 insns = 0;
    const auto began = std::chrono::steady_clock::now();
    for (; insns < window; insns += m.nr_insns()) verify_and_rewrite(m);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
    m.took.push_back(took.count() / insns);
    return true;
}

// How many times as long `b` takes as `a`: a round's ratio is of one moment, whatever the machine's speed is then.
double median_ratio(const Measured& b, const Measured& a) {
    std::vector<double> ratios;
    std::transform(b.took.begin(), b.took.end(), a.took.begin(), std::back_inserter(ratios), std::divides<>());
    const auto middle = ratios.begin() + static_cast<ptrdiff_t>(ratios.size() / 2);
    std::nth_element(ratios.begin(), middle, ratios.end());
    return *middle;
}

}  // namespace

int main() {
    constexpr double most = 1.2;  // times as long, for an instruction of the longest program
    constexpr size_t lengths[] = {64, 512, 4096};
    constexpr size_t rounds = 1000;
    std::vector<std::vector<Measured>> programs;
    for (const Shape& shape : shapes) {
        auto& of_shape = programs.emplace_back();
        for (const size_t length : lengths) {
            auto code = assemble(program(shape, length));
            if (!code) {
                fmt::print(stderr, "{}\n", code.error().message());
                return 1;
            }
            of_shape.emplace_back(std::move(*code));
        }
    }
    for (size_t round = 0; round < rounds; round++)
        for (auto& of_shape : programs)
            for (Measured& m : of_shape)
                if (!measure(m)) return 1;

    bool is_linear = true;
    for (size_t i = 0; i < programs.size(); i++) {
        fmt::print("{:<28}", shapes[i].name);
        for (const Measured& m : programs[i])
            fmt::print(" {:6.2f} ns at {:4}", *std::min_element(m.took.begin(), m.took.end()), m.nr_insns());
        const double times = median_ratio(programs[i].back(), programs[i].front());
        fmt::print(", {:.2f} times\n", times);
        is_linear = is_linear && times <= most;
    }
    if (!is_linear) fmt::print(stderr, "an instruction of a longer program takes more than {} times as long\n", most);
    return is_linear ? 0 : 1;
}
