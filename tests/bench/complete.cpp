// SPDX-License-Identifier: MIT
// How long TAB takes within a target, among the functions of a table with as many names as it is told: 150,000.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "repl/complete.hpp"
#include "symbols/kallsyms.hpp"

int main(int argc, char** argv) {
    const int names = argc > 1 ? std::atoi(argv[1]) : 150000;
    const std::string path = fmt::format("/tmp/kpl-bench-complete.{}", names);
    {
        constexpr const char* parts[] = {"vfs", "tcp", "ext4", "dev", "__x64_sys", "perf", "sched", "nf", "drm", "kvm"};
        std::ofstream table(path);
        for (int i = 0; i < names; i++)
            fmt::print(table, "{:016x} t {}_function_{}{}\n", 0xffffffff81000000u + static_cast<uint64_t>(i) * 64,
                       parts[i % 10], i, i % 5 == 1 ? "\t[module]" : "");
    }
    kpl::Kallsyms symbols(path);
    for (const char* what : {"first", "again"})
        for (const char* begin : {"", "v", "vfs_function_12", "module:tcp_function_1"}) {
            const std::string text = begin;
            const size_t colon = text.find(':');
            const auto began = std::chrono::steady_clock::now();
            const std::string name = text.substr(colon == text.npos ? 0 : colon + 1);
            std::vector<std::string_view> found;
            const auto done = symbols.each_function(name, colon == text.npos ? "" : text.substr(0, colon),
                                                    [&](std::string_view one) { found.push_back(one); });
            const size_t count = found.size();
            const auto answer = kpl::Completer::answer_of(std::move(found), name);
            const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
            if (!done || answer.words.empty() == (count != 0)) return 1;
            fmt::print("{} TAB behind '{}': {:.1f} ms, {} of {} names\n", what, begin, took.count(), count, names);
        }
    std::remove(path.c_str());
}
