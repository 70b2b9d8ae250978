// SPDX-License-Identifier: MIT
// Helpers of the simulator: memory, strings, records, maps, the end of a run.
#include "simulator/simulate.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "simulator/asm.hpp"

using namespace kpl;

namespace {

struct Setup {
    uint32_t kind = KPL_PROG_PRE;
    uint32_t scratch_size = 128;
    uint32_t data_size = 0;
};

SimOutcome run(Simulator& sim, const std::string& text, Setup setup = {}) {
    auto code = assemble(text);
    if (!code) FAIL(code.error().message());
    auto program = sim.load({code->insns, code->labels, setup.kind, setup.data_size, setup.scratch_size});
    if (!program) FAIL(program.error().text << "\n" << disassemble(code->insns, code->labels));
    return sim.run(*program);
}

std::string scratch_string(const Simulator& sim, size_t offset) {
    uint32_t len = 0;
    std::memcpy(&len, sim.scratch.data() + offset, 4);
    return {reinterpret_cast<const char*>(sim.scratch.data()) + offset + 8, len};
}

SimMap make_map(uint32_t kind, uint32_t key_size, uint32_t value_size = 0, uint32_t max_entries = 0) {
    kpl_map_create request{};
    request.kind = kind;
    request.key_size = key_size;
    request.value_size = value_size;
    request.max_entries = max_entries;
    return SimMap::create(request);
}

std::vector<uint64_t> words_of(const ByteVector& bytes) {
    std::vector<uint64_t> words(bytes.size() / 8);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
}

// agg_add(hit, map 0, key 0, n) for each n; the words of the only cell.
std::vector<uint64_t> aggregate(SimMap map, std::initializer_list<int64_t> numbers) {
    Simulator sim;
    sim.maps.push_back(std::move(map));
    std::string code = "r6 = r1\n";
    for (int64_t n : numbers)
        code += fmt::format("r1 = r6\nr2 = map 0\nr3 = 0\nr4 = {:#x} ll\ncall agg_add\n", static_cast<uint64_t>(n));
    CHECK(run(sim, code + "exit").r0 == 1);
    REQUIRE(sim.maps[0].cells.size() == 1);
    return words_of(sim.maps[0].cells.at({}));
}

}  // namespace

TEST_CASE("task and time") {
    Simulator sim;
    sim.now = 5'000'000'000'000;
    sim.task.pid = 7;
    sim.task.tid = 70;
    sim.task.ppid = 700;
    sim.task.uid = 7000;
    sim.task.gid = 70000;
    CHECK(run(sim, "call now\nexit").r0 == 5'000'000'000'000);
    CHECK(run(sim,
              "call pid\nr6 = r0\ncall tid\nr6 += r0\ncall ppid\nr6 += r0\ncall uid\nr6 += r0\n"
              "call gid\nr0 += r6\nexit")
              .r0 == 77777);
    CHECK(run(sim, "call task\nexit").r0 == sim.task.task);
    sim.task.cgroup = 12;
    CHECK(run(sim, "call cgroup\nexit").r0 == 12);
}

TEST_CASE("comm is cut at its limit and padded") {
    Simulator sim;
    sim.task.comm = "a process with a long name";
    run(sim, "r1 = *(u64 *)(r1 + 16)\nr2 = 16\ncall comm\nr0 = 0\nexit");
    CHECK(scratch_string(sim, 0) == "a process with ");
    sim.scratch.assign(128, 0xff);
    run(sim, "r1 = *(u64 *)(r1 + 16)\nr2 = 5\ncall comm\nr0 = 0\nexit");
    CHECK(scratch_string(sim, 0) == "a pro");
    CHECK(words_of(sim.scratch)[1] == 0x6f72702061);
    CHECK(words_of(sim.scratch)[2] == UINT64_MAX);
}

TEST_CASE("strings are padded to the next 8 bytes; what follows is garbage") {
    Simulator sim;
    sim.kernel.add_string(0x1000, "nine chars");
    run(sim, "r2 = *(u64 *)(r1 + 16)\nr3 = 24\nr4 = 0x1000\ncall str\nexit");
    CHECK(words_of(sim.scratch)[0] == 10);
    CHECK(words_of(sim.scratch)[2] == 0x7372);
    CHECK(words_of(sim.scratch)[3] == 0xaaaaaaaaaaaaaaaa);
}

TEST_CASE("a string that ends on the last byte that can be read") {
    Simulator sim;
    sim.kernel.add(0x1000, std::vector<uint8_t>{'a', 'b'});
    sim.user.add(0x1000, std::vector<uint8_t>{'a', 'b'});
    const std::string call =
        "r6 = r1\nr2 = *(u64 *)(r1 + 16)\nr3 = 2\nr4 = 0x1000\ncall {}\n"
        "r2 = *(u32 *)(r6 + 64)\nr2 <<= 8\nr0 |= r2\nexit";
    CHECK(run(sim, fmt::format(fmt::runtime(call), "str")).r0 == 2);
    CHECK(run(sim, fmt::format(fmt::runtime(call), "ustr")).r0 == 2);
    CHECK(sim.truncated == 0);
}

TEST_CASE("kernel memory") {
    Simulator sim;
    sim.kernel.add_u64(0xffff000000001000, 0x8877665544332211);
    const std::string address = "r2 = 0xffff000000001000 ll\n";
    CHECK(run(sim, address + "call read8\nexit").r0 == 0x11);
    CHECK(run(sim, address + "call read16\nexit").r0 == 0x2211);
    CHECK(run(sim, address + "call read32\nexit").r0 == 0x44332211);
    CHECK(run(sim, address + "call read64\nexit").r0 == 0x8877665544332211);
    SECTION("the byte behind the last is bad") {
        SimOutcome outcome = run(sim, "r6 = r1\n" + address + "r2 += 4\ncall read64\nr0 = *(u32 *)(r6 + 64)\nexit");
        CHECK(outcome.r0 == KPL_STOP_READ);
        CHECK(outcome.reason == KPL_STOP_READ);
        CHECK(outcome.bad_addr == 0xffff000000001004);
    }
    SECTION("a block") {
        const std::string block =
            "r2 = r10\nr2 += -8\nr3 = 8\nr4 = 0xffff000000001000 ll\ncall read_mem\n"
            "r2 = *(u64 *)(r10 - 8)\nr0 += r2\nexit";
        CHECK(run(sim, block).r0 == 0x8877665544332211);
    }
}

TEST_CASE("strings are cut at their limit, and counted") {
    Simulator sim;
    sim.kernel.add_string(0x1000, "hello, world");
    sim.user.add_string(0x1000, "user");
    const std::string call = "r2 = *(u64 *)(r1 + 16)\nr3 = {}\nr4 = 0x1000\ncall {}\nexit";
    CHECK(run(sim, fmt::format(fmt::runtime(call), 12, "str")).r0 == 12);
    CHECK(scratch_string(sim, 0) == "hello, world");
    CHECK(sim.truncated == 0);
    CHECK(run(sim, fmt::format(fmt::runtime(call), 11, "str")).r0 == 11);
    CHECK(scratch_string(sim, 0) == "hello, worl");
    CHECK(sim.truncated == 1);
    CHECK(run(sim, fmt::format(fmt::runtime(call), 0, "str")).r0 == 0);
    CHECK(run(sim, fmt::format(fmt::runtime(call), 16, "ustr")).r0 == 4);
    CHECK(scratch_string(sim, 0) == "user");
}

TEST_CASE("buf takes bytes with their NULs") {
    Simulator sim;
    sim.kernel.add(0x1000, std::vector<uint8_t>{'a', 0, 'b', 'c'});
    run(sim, "r2 = *(u64 *)(r1 + 16)\nr3 = 8\nr4 = 0x1000\nr5 = 3\ncall buf\nexit");
    CHECK(scratch_string(sim, 0) == std::string("a\0b", 3));
    CHECK(run(sim, "r2 = *(u64 *)(r1 + 16)\nr3 = 2\nr4 = 0x1000\nr5 = -1\ncall buf\nexit").r0 == 2);
    CHECK(sim.truncated == 1);
    CHECK(run(sim, "r2 = *(u64 *)(r1 + 16)\nr3 = 8\nr4 = 0x1000\nr5 = 5\ncall buf\nexit").bad_addr == 0x1000);
}

namespace {

const std::string emit = R"(
    r6 = r1
    r7 = *(u64 *)(r1 + 16)
    r2 = r7
    r3 = 16
    r4 = 0x1000
    call str
    r1 = r6
    r2 = 3
    r3 = 24
    r4 = 16
    call rec_begin
    if r0 == 0 goto lost
    r8 = r0
    *(u64 *)(r8 + 0) = -7
    *(u64 *)(r8 + 16) = 0
    r1 = r6
    r2 = r8
    r3 = 8
    r4 = r7
    r5 = 16
    call rec_str
    r1 = r6
    r2 = r8
    call rec_end
    r0 = 0
    exit
    lost: r0 = 1
    exit
)";

}  // namespace

TEST_CASE("records") {
    Simulator sim;
    sim.kernel.add_string(0x1000, "path");
    CHECK(run(sim, emit).r0 == 0);
    REQUIRE(sim.records.size() == 1);
    const SimRecord& record = sim.records[0];
    CHECK(record.event == 3);
    CHECK(record.seq == 0);
    CHECK(record.time == sim.now);
    CHECK(record.number(0) == static_cast<uint64_t>(-7));
    CHECK(record.text(8) == "path");
    CHECK(record.text(16) == std::nullopt);  // the program stored 0
    CHECK(record.bytes.size() == sizeof(kpl_rec) + 24 + 8);
    SECTION("a full ring loses records and counts them") {
        sim.ring_room = 2;
        CHECK(run(sim, emit).r0 == 0);
        CHECK(run(sim, emit).r0 == 1);
        CHECK(sim.sent == 3);
        CHECK(sim.lost == 1);
        CHECK(sim.records.back().seq == 1);
    }
}

TEST_CASE("a record that is pending when the fuel is spent is dropped") {
    Simulator sim;
    SimOutcome outcome = run(sim, R"(
        r6 = r1
        r2 = 3
        r3 = 8
        r4 = 0
        call rec_begin
        if r0 == 0 goto lost
        r7 = r0
        loop: {r6=hit r7=rec rec=8}
        goto loop
        lost: r0 = 0
        exit
    )");
    CHECK(outcome.reason == KPL_STOP_BUDGET);
    CHECK(outcome.pc == 7);
    CHECK(outcome.record_dropped);
    CHECK(sim.records.empty());
    CHECK(sim.sent == 0);
}

TEST_CASE("a tail without room for a string stops the handler") {
    Simulator sim;
    SimOutcome outcome = run(sim, R"(
        r6 = r1
        r7 = *(u64 *)(r1 + 16)
        *(u64 *)(r7 + 0) = 9
        r2 = 3
        r3 = 8
        r4 = 8
        call rec_begin
        if r0 == 0 goto lost
        r8 = r0
        r1 = r6
        r2 = r8
        r3 = 0
        r4 = r7
        r5 = 16
        call rec_str
        r1 = r6
        r2 = r8
        call rec_end
        r0 = *(u32 *)(r6 + 64)
        exit
        lost: exit
    )");
    CHECK(outcome.r0 == KPL_STOP_TOO_LONG);
    CHECK(sim.records.at(0).bytes.size() == sizeof(kpl_rec) + 8);
}

TEST_CASE("aggregations") {
    CHECK(aggregate(make_map(KPL_MAP_COUNT, 0), {1, 1, 5}) == std::vector<uint64_t>{7});
    CHECK(aggregate(make_map(KPL_MAP_SUM, 0), {1, -3}) == std::vector<uint64_t>{static_cast<uint64_t>(-2)});
    CHECK(aggregate(make_map(KPL_MAP_AVG, 0), {10, 20}) == std::vector<uint64_t>{2, 30});
    CHECK(aggregate(make_map(KPL_MAP_MIN, 0), {10, -20, 3}) == std::vector<uint64_t>{3, static_cast<uint64_t>(-20)});
    CHECK(aggregate(make_map(KPL_MAP_MAX, 0), {-10, -20}) == std::vector<uint64_t>{2, static_cast<uint64_t>(-10)});
    CHECK(aggregate(make_map(KPL_MAP_STATS, 0), {4, 6, -1}) ==
          std::vector<uint64_t>{3, 9, static_cast<uint64_t>(-1), 6});
}

TEST_CASE("histograms") {
    auto hist = aggregate(make_map(KPL_MAP_HIST, 0), {-1, INT64_MIN, 0, 1, 2, 3, 4, 7, 8, INT64_MAX});
    REQUIRE(hist.size() == 66);
    CHECK(hist[0] == 2);  // negative
    CHECK(hist[1] == 1);  // 0
    CHECK(hist[2] == 1);  // [1, 2)
    CHECK(hist[3] == 2);  // [2, 4)
    CHECK(hist[4] == 2);  // [4, 8)
    CHECK(hist[5] == 1);  // [8, 16)
    CHECK(hist[64] == 1);
    kpl_map_create request{};
    request.kind = KPL_MAP_LHIST;
    request.lo = -10;
    request.hi = 10;
    request.step = 5;
    CHECK(aggregate(SimMap::create(request), {-11, -10, -6, -5, 0, 4, 9, 10, INT64_MAX, INT64_MIN}) ==
          std::vector<uint64_t>{2, 2, 1, 2, 1, 2});
    request.lo = INT64_MIN;
    request.hi = INT64_MIN + 2;
    request.step = 1;
    CHECK(aggregate(SimMap::create(request), {INT64_MIN, INT64_MIN + 1, INT64_MIN + 2, 0, -1, INT64_MAX}) ==
          std::vector<uint64_t>{0, 1, 1, 4});
    request.hi = INT64_MAX;
    request.step = INT64_MAX;
    CHECK(aggregate(SimMap::create(request), {INT64_MIN, -2, -1, INT64_MAX - 2, INT64_MAX}) ==
          std::vector<uint64_t>{0, 2, 2, 1});
}

TEST_CASE("a map that is full refuses new keys") {
    Simulator sim;
    sim.maps.push_back(make_map(KPL_MAP_COUNT, 8, 0, 2));
    const std::string add = "*(u64 *)(r10 - 8) = {}\nr2 = map 0\nr3 = r10\nr3 += -8\nr4 = 1\ncall agg_add\nexit";
    CHECK(run(sim, fmt::format(fmt::runtime(add), 1)).r0 == 1);
    CHECK(run(sim, fmt::format(fmt::runtime(add), 2)).r0 == 1);
    CHECK(run(sim, fmt::format(fmt::runtime(add), 3)).r0 == 0);
    CHECK(run(sim, fmt::format(fmt::runtime(add), 2)).r0 == 1);
    CHECK(sim.maps[0].lost == 1);
    CHECK(sim.maps[0].cells.size() == 2);
}

TEST_CASE("hash maps") {
    Simulator sim;
    sim.maps.push_back(make_map(KPL_MAP_HASH, 8, 16));
    SimOutcome outcome = run(sim, R"(
        r6 = r1
        r7 = *(u64 *)(r1 + 16)
        *(u64 *)(r7 + 0) = 5
        *(u64 *)(r7 + 8) = 10
        *(u64 *)(r7 + 16) = 20
        r2 = map 0
        r3 = r7
        r4 = r7
        r4 += 8
        call map_set
        r1 = r6
        r2 = map 0
        r3 = r7
        r4 = 3
        call map_add
        r1 = r6
        r2 = map 0
        r3 = r7
        r4 = r10
        r4 += -16
        call map_get
        r8 = *(u64 *)(r10 - 16)
        r3 = *(u64 *)(r10 - 8)
        r8 += r3
        r8 *= 10
        r8 += r0
        r1 = r6
        r2 = map 0
        r3 = r7
        call map_delete
        r8 *= 10
        r8 += r0
        r1 = r6
        r2 = map 0
        r3 = r7
        r4 = r10
        r4 += -16
        call map_get
        r8 *= 10
        r8 += r0
        r0 = *(u64 *)(r10 - 8)
        r0 += r8
        exit
    )");
    CHECK(outcome.r0 == 33110);
    CHECK(sim.maps[0].cells.empty());
}

TEST_CASE("stacks") {
    Simulator sim;
    sim.task.kstack = {0x10, 0x20};
    sim.task.ustack = {1, 2, 3, 4, 5};
    sim.scratch.assign(128, 0xff);
    CHECK(run(sim, "r2 = *(u64 *)(r1 + 16)\nr3 = 24\ncall kstack\nexit").r0 == 2);
    CHECK(words_of(sim.scratch)[1] == 0x20);
    CHECK(words_of(sim.scratch)[2] == 0);
    CHECK(words_of(sim.scratch)[3] == UINT64_MAX);
    CHECK(run(sim, "r2 = *(u64 *)(r1 + 16)\nr3 = 24\ncall ustack\nexit").r0 == 3);
    CHECK(words_of(sim.scratch)[2] == 3);
}

TEST_CASE("ends of a run") {
    Simulator sim;
    SimOutcome outcome = run(sim, "r0 = 1\nexit", {.kind = KPL_PROG_ENTRY});
    CHECK(outcome.skipped);
    for (uint32_t kind : {KPL_PROG_PRE, KPL_PROG_POST, KPL_PROG_FAULT, KPL_PROG_RET}) {
        INFO("kind " << kind);
        outcome = run(sim, "r0 = 1\nexit", {.kind = kind});
        CHECK_FALSE(outcome.skipped);
        CHECK(outcome.reason == KPL_STOP_RESULT);
    }
    outcome = run(sim, fmt::format("r0 = {}\nexit", KPL_RET_STOP(KPL_STOP_NIL, 1)));
    CHECK(outcome.reason == KPL_STOP_NIL);
    CHECK(outcome.pc == 1);
    const std::string outside = fmt::format("{}", KPL_RET_STOP(KPL_STOP_NIL, 2));
    for (const char* r0 : {"0x100000003 ll", "0x1 ll", "-1", "300", "255", outside.c_str()}) {
        INFO(r0);
        outcome = run(sim, fmt::format("r0 = {}\nexit", r0));
        CHECK_FALSE(outcome.skipped);
        CHECK(outcome.reason == KPL_STOP_RESULT);
        CHECK(outcome.pc == 0);
    }
    run(sim, "r2 = 3\ncall exit\nr0 = 0\nexit");
    CHECK(sim.exit_code == 3);
}
