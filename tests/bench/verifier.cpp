// SPDX-License-Identifier: MIT
// What verifying and rewriting takes for each instruction, in programs of 64 to 4,096: it must not grow with their
// length.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
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

// The best of many, in ns; 0: it is refused.
double nanoseconds(const Assembly& code) {
    std::vector<uint64_t> ws(kpl_verify_ws_size(static_cast<u32>(code.insns.size())) / 8 + 1);
    std::vector<bpf_insn> out(KPL_MAX_SLOTS);
    double best = 0;
    for (size_t run = 0; run < 2000000 / code.insns.size(); run++) {
        struct kpl_verify v {};
        v.insns = code.insns.data();
        v.labels = code.labels.data();
        v.nr_insns = static_cast<u32>(code.insns.size());
        v.nr_labels = static_cast<u32>(code.labels.size());
        v.budget = KPL_MAX_BUDGET;
        v.ws = reinterpret_cast<kpl_verify_ws*>(ws.data());
        u32 slots;
        const auto began = std::chrono::steady_clock::now();
        if (kpl_verify(&v) || kpl_rewrite(&v, out.data(), KPL_MAX_SLOTS, &slots, nullptr)) {
            fmt::print(stderr, "refused: {} at {}\n", kpl_reject_text(v.reject), v.reject_pc);
            return 0;
        }
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
        if (run == 0 || took.count() < best) best = took.count();
    }
    return best;
}

}  // namespace

int main() {
    constexpr double most = 1.2;  // times as long, for an instruction of the longest program
    bool is_linear = true;
    for (const Shape& shape : shapes) {
        fmt::print("{:<28}", shape.name);
        double first = 0, last = 0;
        for (const size_t length : {64, 512, 4096}) {
            const auto code = assemble(program(shape, length));
            if (!code) {
                fmt::print(stderr, "{}\n", code.error().message());
                return 1;
            }
            const double took = nanoseconds(*code);
            if (took == 0) return 1;
            last = took / static_cast<double>(code->insns.size());
            if (first == 0) first = last;
            fmt::print(" {:6.2f} ns at {:4}", last, code->insns.size());
        }
        fmt::print(", {:.2f} times\n", last / first);
        is_linear = is_linear && last / first <= most;
    }
    if (!is_linear) fmt::print(stderr, "an instruction of a longer program takes more than {} times as long\n", most);
    return is_linear ? 0 : 1;
}
