// SPDX-License-Identifier: MIT
// The assembler and the disassembler, against each other and against encodings of RFC 9669.
#include "simulator/asm.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "core/core.h"
#include "rows/rows.hpp"

using namespace kpl;

namespace {

Assembly must_assemble(const std::string& text) {
    auto code = assemble(text);
    if (!code) FAIL(code.error().message() << "\n" << text);
    return *std::move(code);
}

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

void check_round_trip(const Assembly& code) {
    std::string text = disassemble(code.insns, code.labels);
    Assembly again = must_assemble(text);
    INFO(text);
    CHECK(same_bytes(again.insns, code.insns));
    CHECK(same_bytes(again.labels, code.labels));
}

uint64_t encoding(const std::string& line) {
    Assembly code = must_assemble(line);
    REQUIRE(!code.insns.empty());
    uint64_t value = 0;
    std::memcpy(&value, &code.insns[0], sizeof value);
    return value;
}

std::string error_of(const std::string& text) {
    auto code = assemble(text);
    return code ? "" : code.error().message();
}

}  // namespace

TEST_CASE("encodings") {
    // Little-endian: opcode in the lowest byte, then dst and src, off, imm.
    CHECK(encoding("r0 = 1") == 0x00000001000000b7);
    CHECK(encoding("w3 = -1") == 0xffffffff000003b4);
    CHECK(encoding("r1 = r2") == 0x00000000000021bf);
    CHECK(encoding("r1 s>>= 63") == 0x0000003f000001c7);
    CHECK(encoding("w8 %= w7") == 0x000000000000789c);
    CHECK(encoding("r1 = -r1") == 0x0000000000000187);
    CHECK(encoding("w1 = -w1") == 0x0000000000000184);
    CHECK(encoding("r5 = be16 r5") == 0x00000010000005dc);
    CHECK(encoding("r5 = le64 r5") == 0x00000040000005d4);
    CHECK(encoding("r1 = *(u64 *)(r6 + 8)") == 0x0000000000086179);
    CHECK(encoding("r1 = *(u8 *)(r10 - 1)") == 0x00000000ffffa171);
    CHECK(encoding("*(u32 *)(r10 - 4) = r2") == 0x00000000fffc2a63);
    CHECK(encoding("*(u16 *)(r7 + 2) = -5") == 0xfffffffb0002076a);
    CHECK(encoding("if r1 s< r2 goto +5") == 0x00000000000521cd);
    CHECK(encoding("if w1 & 8 goto -2") == 0x00000008fffe0146);
    CHECK(encoding("goto -1") == 0x00000000ffff0005);
    CHECK(encoding("call now") == 0x0000000100000085);
    CHECK(encoding("exit") == 0x0000000000000095);
    CHECK(encoding("r2 = map 7") == 0x0000000700001218);
    CHECK(encoding("r2 = 0x1122334455667788 ll") == 0x5566778800000218);
    CHECK(encoding(".insn 0xff 15 14 -2 3") == 0x00000003fffeefff);
}

TEST_CASE("what is printed is read back to the same bytes") {
    size_t programs = 0;
    for (const char* file :
         {"verifier_base.txt", "verifier_memory.txt", "verifier_calls.txt", "engine_programs.txt", "engine_ops.txt"}) {
        auto rows = rows::read_rows(file);
        if (!rows) FAIL(rows.error().message());
        for (const rows::Row& row : *rows) check_round_trip(row.code);
        programs += rows->size();
    }
    fmt::print("programs printed and read back: {}\n", programs);
}

TEST_CASE("any bytes are printed, and read back to the same") {
    std::mt19937_64 random(1);
    for (int i = 0; i < 2000; i++) {
        Assembly code;
        for (int n = 0; n < 12; n++) {
            uint64_t bytes = random();
            bpf_insn insn;
            std::memcpy(&insn, &bytes, sizeof insn);
            // Mostly known opcodes, with most of their fields unused.
            if (random() % 4) insn.imm = insn.off = 0;
            if (random() % 4) insn.src_reg = 0;
            if (random() % 8 == 0) insn.code = BPF_LD | BPF_IMM | BPF_DW;
            if (random() % 8 == 0) std::memset(&insn, 0, sizeof insn);
            code.insns.push_back(insn);
        }
        check_round_trip(code);
    }
}

TEST_CASE("a listing has pcs, labels, states and notes") {
    Assembly code = must_assemble(R"(
        r6 = r1
        r3 = 5 ll
        loop: {r6=hit r3=num r8=stack-16 stack=0x3}
        r3 += -1
        if r3 == 0 goto out
        goto loop
        out: r0 = 0
        exit
    )");
    std::string listing =
        disassemble(code.insns, code.labels, [](uint32_t pc) { return pc == 3 ? "script.lua:7" : std::string{}; });
    CHECK(listing ==
          "    0: r6 = r1\n"
          "    1: r3 = 0x5 ll\n"
          "L3: {r3=num r6=hit r8=stack-16 stack=0x3}\n"
          "    3: r3 += -1                                  ; script.lua:7\n"
          "    4: if r3 == 0 goto L6\n"
          "    5: goto L3\n"
          "L6:\n"
          "    6: r0 = 0\n"
          "    7: exit\n");
}

TEST_CASE("declared states") {
    Assembly code = must_assemble("here: {r0=num r1=hit r2=regs r3=data+8 r4=scratch-8 r5=map:3 r6=rec rec=24}\nexit");
    REQUIRE(code.labels.size() == 1);
    const kpl_label& label = code.labels[0];
    CHECK(label.pc == 0);
    CHECK(label.type[0] == KPL_T_NUM);
    CHECK(label.type[1] == KPL_T_HIT);
    CHECK(label.type[2] == KPL_T_REGS);
    CHECK((label.type[3] == KPL_T_DATA && label.off[3] == 8));
    CHECK((label.type[4] == KPL_T_SCRATCH && label.off[4] == -8));
    CHECK((label.type[5] == KPL_T_MAP && label.off[5] == 3));
    CHECK(label.type[6] == KPL_T_REC);
    CHECK(label.type[7] == KPL_T_NONE);
    CHECK((label.rec_pending == 1 && label.rec_size == 24));
}

TEST_CASE("errors name the line and what was found") {
    CHECK(error_of("r0 = 0\nr1 +") == "asm:2: expected an assignment, found '+'");
    CHECK(error_of("r1 = r2 r3") == "asm:1: expected the end of the line, found 'r3'");
    CHECK(error_of("r1 = w2") == "asm:1: both registers must be of one width, found 'w2'");
    CHECK(error_of("goto nowhere") == "asm:1: no such label, or out of reach, found 'nowhere'");
    CHECK(error_of("a: exit\na: exit") == "asm:2: label a is there twice, found 'exit'");
    CHECK(error_of("1: exit") == "asm:1: expected pc 0, found '1'");
    CHECK(error_of("call nothing") == "asm:1: expected the name of a helper, found 'nothing'");
    CHECK(error_of("r0 = 4294967296") == "asm:1: expected a number of 32 bits, found '4294967296'");
    CHECK(error_of("r0 = *(u63 *)(r1 + 0)") == "asm:1: expected u8, u16, u32 or u64, found 'u63'");
    CHECK(error_of("if r1 = 2 goto +1") == "asm:1: expected a comparison, found '='");
    CHECK(error_of("if r1 == 2") == "asm:1: expected 'goto', found the end of the line");
    CHECK(error_of("l: {r1=thing}") == "asm:1: expected the type of a register, found 'thing'");
    CHECK(error_of("l: {r9=num}") == "asm:1: expected r0 to r8, rec or stack, found 'r9'");
    CHECK(error_of("l: {r1=num") != "");
    CHECK(error_of("r1 = -r2") != "");
    CHECK(error_of("r1 = be24 r1") != "");
    CHECK(error_of("frobnicate") != "");
}
