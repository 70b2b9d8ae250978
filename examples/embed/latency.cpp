// SPDX-License-Identifier: MIT
// How long does a function take? A table of its calls by command, refreshed each second, and a histogram at the end.
//
//   c++ -std=c++17 -o latency latency.cpp $(pkg-config --cflags --libs kprobe-lua)
//   sudo ./latency vfs_read [SECONDS]
#include <kprobe-lua.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr const char* script = R"(
local by_command, nsecs = stats(), hist()
kretprobe { arg[1],
  entry = function(p) p.data.at = now() end,
  ret = function(p)
    local took = now() - p.data.at
    by_command[comm()]:add(took)
    nsecs:add(took)
  end }
)";

int fail(const std::string& why) {
    std::fprintf(stderr, "latency: %s\n", why.c_str());
    return 1;
}

void print_table(const kprobe_lua::Rows& rows) {
    std::printf("%-16s %10s %12s %12s\n", "COMMAND", "CALLS", "AVG ns", "MAX ns");
    for (const kprobe_lua::Row& row : rows) {
        const klua_aggregate stats = row.aggregate();
        const std::string comm(row.key().string());
        std::printf("%-16s %10llu %12lld %12lld\n", comm.c_str(), static_cast<unsigned long long>(stats.count),
                    static_cast<long long>(stats.count ? stats.sum / static_cast<int64_t>(stats.count) : 0),
                    static_cast<long long>(stats.max));
    }
    std::printf("\n");
    std::fflush(stdout);
}

void print_histogram(const kprobe_lua::Rows& rows) {
    for (const kprobe_lua::Row& row : rows)
        for (const kprobe_lua::Bucket& bucket : row.buckets())
            if (bucket.count)
                std::printf("%12lld ns and more %10llu\n", static_cast<long long>(bucket.low.value_or(0)),
                            static_cast<unsigned long long>(bucket.count));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return fail("usage: latency FUNCTION [SECONDS]"), 2;
    const std::chrono::seconds limit(argc > 2 ? std::atol(argv[2]) : 1000000);
    kprobe_lua::Session session(
        {{}, [](klua_note, std::string_view line) { std::fprintf(stderr, "%s\n", line.data()); }, {}});
    if (const auto status = session.load(script, "latency", {argv[1]}); !status) return fail(status.text());
    if (const auto status = session.arm(); !status) return fail(status.text());
    std::fprintf(stderr, "timing %s\n", argv[1]);

    const auto began = std::chrono::steady_clock::now();
    for (auto next = began; !session.ended() && std::chrono::steady_clock::now() - began < limit;) {
        next += std::chrono::seconds(1);
        while (std::chrono::steady_clock::now() < next) {
            const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(next - std::chrono::steady_clock::now());
            if (const auto status = session.poll(static_cast<int>(left.count()) + 1); !status)
                return fail(status.text());
        }
        print_table(session.take(session.map("by_command")));
    }
    if (const auto status = session.stop(); !status) return fail(status.text());
    print_histogram(session.read(session.map("nsecs")));
    return 0;
}
