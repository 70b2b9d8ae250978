// SPDX-License-Identifier: MIT
// What a consumer takes for an event: rings in memory, filled with events of time, pid and comm, go the way that a
// session's events go, into a callback that adds one field to a sum, counts by comm, or keeps the event: in Lua, or of
// the C API. usage: bench_consumer [CPUS [MILLIONS OF EVENTS]]
#include <fmt/format.h>

#include <ctime>
#include <memory>

#include "../unit/fake_script.hpp"
#include "../unit/made_rings.hpp"
#include "api/handle.hpp"
#include "session/delivery.hpp"

using namespace kpl;

namespace {

constexpr uint32_t ring_bytes = 1 << 20;

// The sum of the pids, and something that takes the string.
struct Sums {
    int64_t pids = 0;
    uint64_t letters = 0;
};

int add_pid(void* user, const klua_record* record) {
    static_cast<Sums*>(user)->pids += klua_record_int(record, 1);
    return 0;
}

int add_pid_and_comm(void* user, const klua_record* record) {
    auto* sums = static_cast<Sums*>(user);
    size_t length = 0;
    const char* comm = klua_record_string(record, 0, &length);
    sums->pids += klua_record_int(record, 1);
    sums->letters += length + static_cast<unsigned char>(comm[0]);
    return 0;
}

// What the callback does with each event: the script's or, where there is a function, that. All give the sum of the
// pids.
struct Job {
    const char* name;
    const char* script;
    klua_record_fn fn = nullptr;
};
constexpr Job jobs[] = {
    {"each", R"(seen:each(function(e) sum = sum + e.pid end))"},
    {"each_batch", R"(seen:each_batch(function(batch) for i = 1, #batch do sum = sum + batch[i].pid end end))"},
    {"by-comm", R"(local by = {}
        seen:each(function(e) sum = sum + e.pid; by[e.comm] = (by[e.comm] or 0) + 1 end))"},
    {"keep", R"(local kept, n = {}, 0
        seen:each(function(e) sum = sum + e.pid; n = n % 1000 + 1; kept[n] = e end))"},
    {"print", R"(seen:each(function(e) sum = sum + e.pid; print(e.pid, e.comm) end))"},
    {"printf", R"(seen:each(function(e) sum = sum + e.pid; printf("%-7d %-16s\n", e.pid, e.comm) end))"},
    {"C", "do end", add_pid},
    {"C, comm", "do end", add_pid_and_comm},
};

struct BenchScript : test::FakeScript {
    std::vector<CallbackId> ends;
    std::string output;
    void at_exit(CallbackId callback) override { ends.push_back(callback); }
    void write(std::string_view text) override { output = text; }
    bool writes_directly() const override { return true; }
};

Layout event_layout() {
    Layout layout;
    FieldLayout comm, pid;
    comm.name = "comm", comm.kind = FieldKind::String, comm.offset = 0, comm.limit = 15;
    pid.name = "pid", pid.kind = FieldKind::I64, pid.offset = 8;
    layout.fields = {comm, pid};
    layout.size = 16;
    return layout;
}

double cpu_seconds() {
    timespec ts{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return static_cast<double>(ts.tv_sec) + static_cast<double>(ts.tv_nsec) / 1e9;
}

// Fills the rings in turn, as CPUs that take turns of a few events do. Returns how many were sent.
uint64_t fill(std::vector<std::unique_ptr<test::MadeRing>>& rings, const Layout& layout, uint64_t& time,
              uint64_t& expected) {
    static constexpr const char* comms[] = {"postgres", "nginx", "kworker/0:1", "sshd"};
    for (uint64_t sent = 0;; sent++) {
        const uint64_t pid = 1000 + sent % 7;
        test::MadeRecord record(layout);
        record.string(0, comms[sent / 16 % 4]).number(1, pid);
        test::MadeRing& ring = *rings[sent / 8 % rings.size()];
        if (ring.head().head - ring.control().tail + record.bytes().size() > ring_bytes) return sent;
        ring.send(0, time++, record.bytes());
        expected += pid;
    }
}

// Whether all went well.
bool measure(const Job& job, size_t cpus, uint64_t wanted) {
    BenchScript script;
    LuaHost host = LuaHost::create(script).value();
    const std::string code =
        fmt::format("local seen, sum = event(), 0; {}; at_exit(function() print(sum) end)", job.script);
    if (auto ran = host.run_string(code, "=bench", {}); !ran) {
        fmt::print(stderr, "{}\n", ran.error().message());
        return false;
    }
    const Layout layout = event_layout();
    script.unit.events[0].record = layout;

    std::vector<std::unique_ptr<test::MadeRing>> rings;
    std::vector<Rings::Memory> memory;
    for (size_t i = 0; i < cpus; i++) {
        rings.push_back(std::make_unique<test::MadeRing>(ring_bytes));
        memory.push_back(rings.back()->memory());
    }
    Sums sums;
    api::Callbacks callbacks;
    callbacks.unit = &script.unit;
    callbacks.decoder = &script.values;
    if (job.fn) callbacks.subscribe({0, job.fn, &sums});
    Delivery delivery(Rings(std::move(memory), ring_bytes),
                      {host, script.unit, script.values, [](std::string_view) {}, {}, &callbacks});

    uint64_t events = 0, time = 1, expected = 0;
    double seconds = 0;
    while (events < wanted) {
        const uint64_t sent = fill(rings, layout, time, expected);
        const double start = cpu_seconds();
        const auto drained = delivery.drain_all();
        seconds += cpu_seconds() - start;
        if (!drained || *drained != sent) {
            fmt::print(stderr, "{} sent, {} delivered\n", sent, drained ? *drained : 0);
            return false;
        }
        events += sent;
    }
    for (const CallbackId end : script.ends) (void)host.call(end);
    if (job.fn) script.output = std::to_string(sums.pids) + "\n";
    if (script.output != std::to_string(expected) + "\n") {
        fmt::print(stderr, "the sum is {}, not {}\n", script.output, expected);
        return false;
    }
    fmt::print("{:<10} {} CPUs: {:5.1f} million events a second, {:4.0f} ns for each\n", job.name, cpus,
               static_cast<double>(events) / seconds / 1e6, seconds / static_cast<double>(events) * 1e9);
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    const size_t cpus = argc > 1 ? std::stoul(argv[1]) : 2;
    const uint64_t wanted = (argc > 2 ? std::stoul(argv[2]) : 5) * 1000000;
    bool ok = true;
    for (const Job& job : jobs) ok &= measure(job, cpus, wanted);
    return ok ? 0 : 1;
}
