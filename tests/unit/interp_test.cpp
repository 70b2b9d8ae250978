// SPDX-License-Identifier: MIT
// The interpreter and the rewriter's guards against the rows of tests/data/engine_*.txt. The same rows run on
// the kernel's JIT in tests/vm/engine_rows.cpp.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "core/core.h"
#include "rows/rows.hpp"

using namespace kpl;

namespace {

std::vector<rows::Row> all_rows() {
    std::vector<rows::Row> all;
    for (const char* file : {"engine_ops.txt", "engine_programs.txt"}) {
        auto rows = rows::read_rows(file);
        if (!rows) FAIL(rows.error().message());
        all.insert(all.end(), rows->begin(), rows->end());
    }
    return all;
}

// The instance data as 64-bit words.
uint64_t word(const Simulator& sim, unsigned index) {
    uint64_t value = 0;
    std::copy_n(sim.data.begin() + index * 8, 8, reinterpret_cast<uint8_t*>(&value));
    return value;
}

}  // namespace

TEST_CASE("each program has the result that its row says") {
    size_t runs = 0;
    std::set<unsigned> opcodes;
    for (const rows::Row& row : all_rows()) {
        Simulator sim;
        sim.maps = row.maps;
        sim.hit = row.hit;
        for (auto [index, value] : row.regs) sim.regs.at(index) = value;
        sim.data.resize(row.data_size);
        for (auto [index, value] : row.words)
            std::copy_n(reinterpret_cast<const uint8_t*>(&value), 8, sim.data.begin() + index * 8);

        auto program = sim.load(row.to_load());
        if (!program) FAIL_CHECK(row.name << ": " << program.error().text);
        if (!program) continue;
        SimOutcome outcome = sim.run(*program);
        if (outcome.r0 != row.r0)
            FAIL_CHECK(fmt::format("{}, line {}: r0 is {:#x}, expected {:#x}", row.name, row.line, outcome.r0, row.r0));
        for (auto [index, value] : row.words_after)
            if (word(sim, index) != value)
                FAIL_CHECK(fmt::format("{}: word {} is {:#x}", row.name, index, word(sim, index)));
        for (const bpf_insn& insn : row.code.insns) opcodes.insert(insn.code);
        runs++;
    }
    for (unsigned code = 1; code < 256; code++) {
        INFO("opcode " << code);
        if (kpl_insn_forms[code] != KPL_F_BAD) CHECK(opcodes.contains(code));
    }
    fmt::print("engine rows: {}, with all {} opcodes\n", runs, opcodes.size());
}

TEST_CASE("kpl_interpret brings a stack of its own") {
    auto code = assemble("*(u64 *)(r10 - 512) = 41\nr0 = *(u64 *)(r10 - 512)\nr0 += 1\nexit\n");
    REQUIRE(code.ok());
    kpl_hit hit{};
    CHECK(kpl_interpret(code->insns.data(), &hit, nullptr) == 42);
}

TEST_CASE("an opcode outside of the map ends the run") {
    bpf_insn bad{};
    kpl_hit hit{};
    CHECK(KPL_RET_REASON(kpl_interpret(&bad, &hit, nullptr)) == KPL_STOP_RESULT);
}

TEST_CASE("shifts by constants are masked for the JIT") {
    auto code = assemble("r0 = 1\nr0 <<= 65\nw0 <<= 33\nr0 s>>= -1\nexit\n");
    REQUIRE(code.ok());
    auto program = Simulator().load({code->insns, {}});
    REQUIRE(program.ok());
    CHECK(program->insns[1].imm == 1);
    CHECK(program->insns[2].imm == 1);
    CHECK(program->insns[3].imm == 63);
}

TEST_CASE("programs without loops have no fuel, and no instruction is changed that needs no guard") {
    auto code = assemble("r0 = 1\nif r0 == 1 goto out\nr0 /= 3\nr2 = 7 ll\nout: exit\n");
    REQUIRE(code.ok());
    auto program = Simulator().load({code->insns, {}});
    REQUIRE(program.ok());
    CHECK(disassemble(program->insns) == disassemble(code->insns));
}

TEST_CASE("maps are bound to the values that helpers take") {
    auto code = assemble("r1 = map 1\nr2 = 1 ll\nr0 = 0\nexit\n");
    REQUIRE(code.ok());
    const uint64_t values[] = {5, 0xfedcba9876543210};
    kpl_bind_maps(code->insns.data(), static_cast<u32>(code->insns.size()), values);
    CHECK(disassemble(code->insns).find("r1 = 0xfedcba9876543210 ll") != std::string::npos);
    CHECK(disassemble(code->insns).find("r2 = 0x1 ll") != std::string::npos);
}
