// SPDX-License-Identifier: MIT
// A helper, an aggregation, a kind of probe and an output format that only tests have (KPL_TEST_ROWS): what
// CONTRIBUTING.md lists is all that they take.
#include <catch2/catch.hpp>

#include "core/agg.h"
#include "ir/probe_kinds.hpp"
#include "output/format.hpp"
#include "simulator/asm.hpp"
#include "simulator/simulate.hpp"

using namespace kpl;

TEST_CASE("a helper is a row and two functions") {
    const kpl_helper_desc& row = kpl_helper_descs[KPL_H_test_twice];
    CHECK(row.name == std::string("test_twice"));
    CHECK(row.looks == KPL_LOOKS_NOWHERE);
    CHECK(row.effect == KPL_EFFECT_RESULT);
    CHECK(row.bits == 64);
    Simulator sim;
    auto code =
        assemble("r1 = 21\ncall test_twice\nr6 = r0\nr1 = 0\nr0 = 0\nif r6 == 42 goto out\nr0 = 2\nout: exit\n");
    REQUIRE(code);
    auto program = sim.load({code->insns, {}});
    REQUIRE(program);
    CHECK(sim.run(*program).r0 == 0);
    CHECK(disassemble(code->insns).find("call test_twice") != std::string::npos);
    SimReject reject;
    CHECK_FALSE(sim.load({assemble("r1 = r10\ncall test_twice\nexit\n")->insns, {}}, reject));
    CHECK(reject.reason == KPL_REJECT_ARGUMENT);
}

TEST_CASE("an aggregation is a row") {
    Simulator sim;
    kpl_map_create request{};
    request.kind = KPL_MAP_TEST;
    sim.maps.push_back(SimMap::create(request));
    CHECK(sim.maps[0].value_size == 16);
    for (int n : {5, -2}) {
        auto code = assemble("r2 = map 0\nr3 = 0\nr4 = " + std::to_string(n) + "\ncall agg_add\nr0 = 0\nexit\n");
        auto program = sim.load({code->insns, {}});
        REQUIRE(program);
        sim.run(*program);
    }
    uint64_t words[2];
    const ByteVector& value = sim.maps[0].cells.begin()->second;
    std::copy(value.begin(), value.end(), reinterpret_cast<uint8_t*>(words));
    CHECK(words[0] == 2);
    CHECK(words[1] == 3);
}

TEST_CASE("each format shows it") {
    MapDecl map;
    map.kind = KPL_MAP_TEST;
    map.name = "t";
    KeyedValue row;
    row.value.n = 2;
    row.value.sum = 3;
    CHECK(format_named("text")->map(map, {row}) == "@t: 3\n");
    CHECK(format_named("json")->map(map, {row}) == "{\"type\":\"map\",\"data\":{\"@t\":3}}\n");
    CHECK(format_named("folded")->map(map, {row}) == "t 3\n");
}

// Scripts declare it where everything is built with KPL_TEST_ROWS; its hits: tests/vm/other_abi.
TEST_CASE("a kind of probe is a row") {
    const ProbeKindRow* row = find_probe_kind("test_probe");
    REQUIRE(row);
    CHECK(row == &probe_kind(ProbeKind::Test));
    CHECK(row->placed == KPL_PROBE_TEST);
    CHECK(find_handler(*row, "handler")->program == KPL_PROG_PRE);
    CHECK(find_handler(*row, "") == find_handler(*row, "handler"));
}

TEST_CASE("a format is a row and a file") {
    REQUIRE(format_named("test"));
    CHECK(std::string(formats().back().name) == "test");
    MapDecl map;
    map.name = "t";
    CHECK(format_named("test")->map(map, {}) == "t has 0\n");
    CHECK(format_named("test")->printed("x\n") == "x\n");
    CHECK_FALSE(format_named("none"));
}
