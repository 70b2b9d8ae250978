// SPDX-License-Identifier: MIT
// Functions by their bytes, and what is expected of each instruction: one line each, "+offset probe boost
// optimize", where + is yes and a name is why not.
#include "arch/points.hpp"

#include <catch2/catch.hpp>
#include <sstream>

#include "arch/arch.hpp"
#include "arch/disasm.hpp"
#include "arch/x86_insn.hpp"

using namespace kpl;

namespace {

constexpr uint64_t base = 0xffffffff81000000;

const Arch& arch(std::string_view name) {
    for (const Arch* a : all_archs())
        if (a->name == name) return *a;
    FAIL("no such architecture");
    return host_arch();
}

// "f3 0f 1e fa" as bytes; what follows ; to the end of the line is a comment.
std::vector<uint8_t> bytes(const std::string& text) {
    std::vector<uint8_t> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line.substr(0, line.find(';')));
        for (std::string word; words >> word;) out.push_back(static_cast<uint8_t>(std::stoul(word, nullptr, 16)));
    }
    return out;
}

std::string word(const Verdict& verdict) {
    if (verdict.yes()) return "+";
    std::string name(name_of(verdict.why));
    if (verdict.at) {
        std::ostringstream at;
        at << std::hex << verdict.at - base;
        name += "@" + at.str();
    }
    return name;
}

std::string lines(const std::vector<ProbePoint>& points) {
    std::ostringstream out;
    out << std::hex;
    for (const ProbePoint& p : points) {
        out << "+" << p.addr - base << " " << word(p.probe) << " " << word(p.boost) << " " << word(p.optimize);
        if (p.moved) out << " moved@" << *p.moved - base;
        out << "\n";
    }
    return out.str();
}

struct Function {
    FunctionFacts facts;
    std::vector<uint8_t> code;

    explicit Function(const std::string& text) : code(bytes(text)) {
        facts.addr = base;
        facts.size = code.size();
    }
    std::string x86() {
        facts.code = code;
        return lines(analyse(arch("x86_64"), facts));
    }
    std::string arm64() {
        facts.code = code;
        return lines(analyse(arch("aarch64"), facts));
    }
};

// Of a function whose first instruction is looked at: there is room behind it, and nothing else in the way.
std::string first(const std::string& text, KernelRules rules = {}) {
    Function f(text + "\n90 90 90 90 90 90");
    f.facts.rules = rules;
    const std::string all = f.x86();
    return all.substr(0, all.find('\n'));
}

}  // namespace

TEST_CASE("x86: an ordinary function") {
    Function f(
        "0f 1f 44 00 00 ; the nop of ftrace\n"
        "48 89 f8       ; mov\n"
        "48 83 c0 01    ; add\n"
        "74 f7          ; je +5\n"
        "48 89 c7 48 89 c6 48 89 c2 ; three movs\n"
        "e8 00 00 00 00 ; call\n"
        "c3             ; ret\n");
    CHECK(f.x86() ==
          "+0 + by_ftrace by_ftrace\n"
          "+5 + + +\n"
          "+8 + + region_relative@c\n"
          "+c + relative region_relative@c\n"
          "+e + + +\n"
          "+11 + + +\n"
          "+14 + + region_relative@17\n"
          "+17 + relative region_relative@17\n"
          "+1c + + near_end\n");
}

TEST_CASE("x86: a jump into the region, and to the byte behind it") {
    // jmp to +7 … +d; a region of 5 bytes begins at +2.
    const std::pair<int, bool> rows[] = {{2, true},  {3, false}, {4, false}, {5, false},
                                         {6, false}, {7, false}, {8, true}};
    for (const auto& [target, optimized] : rows) {
        INFO(target);
        Function f("eb 00  90 90 90 90 90 90 90 90 90 90");
        f.code[1] = static_cast<uint8_t>(target - 2);
        f.facts.code = f.code;
        const auto points = analyse(arch("x86_64"), f.facts);
        CHECK(points[1].optimize.yes() == optimized);
        if (!optimized) CHECK(points[1].optimize == Verdict{Why::jump_into, base});
    }
    // Near conditional jumps, loops; a jump back from behind.
    CHECK(Function("90 90 90 90 90 90 0f 84 f5 ff ff ff").x86().starts_with("+0 + + jump_into@6\n"));
    CHECK(Function("90 90 90 90 90 90 e2 f9").x86().starts_with("+0 + + jump_into@6\n"));
    CHECK(Function("90 90 90 90 90 90 e9 f6 ff ff ff").x86().starts_with("+0 + + jump_into@6\n"));
    // A call returns behind itself, wherever it goes.
    CHECK(Function("90 90 90 90 90 90 e8 f6 ff ff ff").x86().starts_with("+0 + + +\n"));
}

TEST_CASE("x86: what the kernel's tables say") {
    const std::string code = "48 89 f8 48 89 f7 48 89 f2 48 89 f1 48 89 f0 48 89 f3";
    {
        Function f(code);
        f.facts.fixups = {base + 3};
        CHECK(f.x86().starts_with("+0 + + function_fixup@3\n+3 fixup fixup fixup\n"));
    }
    {
        Function f(code);
        f.facts.blacklist = {{base + 3, base + 6}};
        CHECK(f.x86().starts_with("+0 + + +\n+3 blacklisted + blacklisted\n+6 + + +\n"));
    }
    {
        Function f(code);
        f.facts.init_text = {base, base + 100};
        CHECK(f.x86().starts_with("+0 init_code + init_code\n"));
    }
    {
        Function f(code);
        f.facts.entry_text = {base, base + 100};
        CHECK(f.x86().starts_with("+0 + + entry_text\n"));
    }
    {
        Function f("48 89 f8 66 90 48 89 f7 48 89 f2 48 89 f1 48 89 f0");  // a two-byte jump label at +3
        f.facts.jump_labels = {base + 3};
        CHECK(f.x86().starts_with("+0 + + region_jump_label@3\n+3 jump_label + jump_label\n+5 + + +\n"));
    }
    {
        Function f(code);
        f.facts.key_jumps = {{base + 6, base + 0x90}};  // whatever is there now
        CHECK(f.x86().starts_with("+0 + + +\n+3 + key_into@90 key_into@90\n+6 + + +\n"));
        f.facts.key_jumps = {{base + 4, base + 0x90}};
        CHECK(f.x86().starts_with("+0 + key_into@90 key_into@90\n+3 + key_into@90 key_into@90\n"));
        f.facts.key_jumps = {{base + 5, base + 0x90}};  // behind the jump
        CHECK(f.x86().starts_with("+0 + + +\n"));
    }
    {
        Function f("48 89 f8 0f 1f 44 00 00 48 89 f8 48 89 f8 48 89 f8");
        f.facts.is_part = true;
        CHECK(f.x86().starts_with("+0 + split split\n+3 + + +\n+8 + split split\n"));
        f.facts.is_part = false;
        f.facts.part_jumps = {base + 11, base + 40};
        CHECK(f.x86().starts_with("+0 + + +\n+3 + + +\n+8 + split split\n"));
    }
    {
        Function f("3e 48 ff 0f 48 89 f8 48 89 f8 48 89 f8");
        CHECK(f.x86().starts_with("+0 lock_prefix "));
    }
    for (const char* one :
         {"f4", "fb f4", "fb 48 0f 01 c9", "0f 01 c9", "c2 08 00", "48 cb", "ca 08 00", "67 e2 fe", "e0 fe", "e1 fe"}) {
        INFO(one);
        Function f(std::string(one) + " 48 89 f8 48 89 f8 48 89 f8");
        CHECK(f.x86().starts_with("+0 mishandled "));
    }
    for (const char* one :
         {"fb", "fb fa", "0f 01 ca", "c5 f0 c2 c2 01", "e3 fe"}) {  // "stac"; "vcmpps", whose opcode is c2
        INFO(one);
        Function f(std::string(one) + " 48 89 f8 48 89 f8 48 89 f8");
        CHECK(f.x86().starts_with("+0 + "));
    }
    {
        Function f(code);
        f.facts.ftrace_alone = true;
        CHECK(f.x86().starts_with("+0 ftrace_alone "));
        f.facts.ftrace_alone = false;
        f.facts.read_over = true;
        CHECK(f.x86().starts_with("+0 read_over "));
    }
    {
        Function f("48 89 f8 0f 1f 44 00 00 48 89 f8 48 89 f8 48 89 f8");
        f.facts.static_calls = {base + 3};
        CHECK(f.x86().starts_with("+0 + + region_static_call@3\n+3 static_call + static_call\n+8 + + +\n"));
    }
    {
        Function f("48 89 f8 0f 0b 48 89 f8 48 89 f8");
        f.facts.bugs = {base + 3};
        CHECK(f.x86().starts_with("+0 + + region_opcode@3\n+3 bug opcode bug\n"));
    }
    {
        Function f(code);
        f.facts.probes = {base, base + 3};
        CHECK(f.x86().starts_with("+0 + + region_probe@3\n+3 + + +\n"));
    }
}

TEST_CASE("x86: how the kernel was built") {
    KernelRules old;
    old.boosts_groups = old.refuses_traps = false;
    const char* groups[] = {"48 c1 e0 03", "48 d1 e0", "48 d3 e0", "48 f7 d8", "f6 07 01", "fe c0", "48 ff c0"};
    for (const char* code : groups) {
        INFO(code);
        // f6 /0 is test: boostable; only f6 /1 is not.
        CHECK(first(code) == "+0 + + +");
        CHECK(first(code, old) == "+0 + opcode region_opcode@0");
    }
    CHECK(first("0f 0b", old) == "+0 + opcode region_opcode@0");
    CHECK(first("0f 0b") == "+0 trap opcode trap");
    KernelRules tables;
    tables.jump_tables = true;
    Function f("48 89 f8 48 89 f7 ff e0");
    CHECK(f.x86().starts_with("+0 + + +\n"));
    f.facts.rules = tables;
    CHECK(f.x86().starts_with("+0 + + indirect_jump@6\n"));
    // A jump to a retpoline; a call of one returns.
    tables.thunks = {base + 0x1000, base + 0x1100};
    Function thunk("48 89 f8 48 89 f7 e9 f5 0f 00 00");
    thunk.facts.rules = tables;
    CHECK(thunk.x86().starts_with("+0 + + indirect_jump@6\n"));
    thunk.code[6] = 0xe8;
    CHECK(thunk.x86().starts_with("+0 + + +\n"));
    KernelRules none;
    none.optprobes = false;
    CHECK(first("48 89 f8", none) == "+0 + + no_optprobes");
}

TEST_CASE("x86: single instructions") {
    const std::pair<const char*, const char*> rows[] = {
        {"cc", "+0 breakpoint opcode breakpoint"},
        {"cd 80", "+0 trap opcode trap"},
        {"f1", "+0 trap opcode trap"},
        {"8e d0", "+0 masks_exceptions + masks_exceptions"},  // mov to ss
        {"8e d8", "+0 + + +"},
        {"cf", "+0 not_emulated + not_emulated"},
        {"ff d0", "+0 + opcode region_opcode@0"},             // call *%rax
        {"ff 10", "+0 not_emulated opcode not_emulated"},     // call *(%rax)
        {"ff e0", "+0 + + +"},                                // jmp *%rax
        {"ff 20", "+0 not_emulated + not_emulated"},          // jmp *(%rax)
        {"ff 18", "+0 not_emulated opcode not_emulated"},     // far
        {"ff 30", "+0 + opcode region_opcode@0"},             // push (%rax)
        {"0f 01 c1", "+0 not_emulated opcode not_emulated"},  // vmcall
        {"67 89 07", "+0 + prefix region_opcode@0"},
        {"2e 89 07", "+0 + prefix region_opcode@0"},
        {"f4", "+0 mishandled opcode mishandled"},
        {"0f b6 07", "+0 + + +"},                        // movzx
        {"0f 05", "+0 + opcode region_opcode@0"},        // syscall
        {"0f 38 f0 07", "+0 + opcode region_opcode@0"},  // three opcode bytes
        {"d9 07", "+0 + opcode region_opcode@0"},
        {"48 b8 00 00 00 00 00 00 00 00", "+0 + + +"},
        {"66 67 48 c7 84 00 00 00 00 00 00 00 00 00", "+0 + prefix region_opcode@0"},
        {"48 c7 84 00 00 00 00 00 00 00 00 00", "+0 + too_long +"},
        {"06", "+0 undecoded undecoded undecoded"},
    };
    for (const auto& [code, expected] : rows) {
        INFO(code);
        CHECK(first(code) == expected);
    }
}

TEST_CASE("x86: the landing pad of an entry") {
    const char* pads[] = {"f3 0f 1e fa", "66 0f 1f 00", "0f 1f 40 d6"};
    for (const char* pad : pads) {
        Function f(pad + std::string(" 0f 1f 44 00 00 48 89 f8 48 89 f7"));
        CHECK(f.x86().starts_with("+0 + by_ftrace by_ftrace moved@4\n+4 + by_ftrace by_ftrace\n+9 + + +\n"));
    }
    // Without a site behind it, too.
    CHECK(Function("f3 0f 1e fa 48 89 f8 48 89 f7 c3").x86().starts_with("+0 + + + moved@4\n+4 + + +\n"));
}

TEST_CASE("x86: an ftrace site by its bytes") {
    Function call("e8 00 00 00 00 48 89 f8 48 89 f7");
    CHECK(call.x86().starts_with("+0 + relative region_relative@0\n"));
    call.facts.traced = true;
    CHECK(call.x86().starts_with("+0 + by_ftrace by_ftrace\n"));
    Function other("0f 1f 44 00 00 48 89 f8 48 89 f7");
    other.facts.traceable = false;
    CHECK(other.x86().starts_with("+0 + + "));
    // A function without a symbol behind this one; a nop of the compiler's is none.
    Function more("0f 1f 44 00 00 48 89 f8 c3 0f 1f 44 00 00 0f 1f 44 00 00 48 89 f8");
    more.facts.more_sites = {base + 0xe, base + 0x100};
    CHECK(more.x86() ==
          "+0 + by_ftrace by_ftrace\n+5 + + +\n+8 + + +\n+9 + + +\n+e + by_ftrace by_ftrace\n+13 + + "
          "near_end\n");
    // A static key may begin a function that is not traced.
    Function key("0f 1f 44 00 00 48 89 f8 48 89 f7");
    key.facts.jump_labels = {base};
    CHECK(key.x86().starts_with("+0 jump_label + jump_label\n"));
}

TEST_CASE("x86: behind what is no instruction nothing is known") {
    Function f("48 89 f8 06 48 89 f7");
    CHECK(f.x86() ==
          "+0 + + function_undecoded@3\n"
          "+3 undecoded undecoded undecoded\n"
          "+4 undecoded undecoded undecoded\n");
}

TEST_CASE("x86: lengths are those of the disassembler") {
    // Every one- and two-byte opcode with a few ModRM bytes and prefixes, where Capstone knows the
    // instruction.
    const Arch& a = arch("x86_64");
    size_t compared = 0;
    for (int prefix : {0, 0x48, 0x66, 0xf3})
        for (int escape : {0, 0x0f})
            for (int op = 0; op < 256; op++)
                for (int modrm : {0x00, 0x05, 0x44, 0x84, 0xc1, 0xd8, 0x25}) {
                    std::vector<uint8_t> code;
                    if (prefix) code.push_back(static_cast<uint8_t>(prefix));
                    if (escape) code.push_back(0x0f);
                    code.push_back(static_cast<uint8_t>(op));
                    code.push_back(static_cast<uint8_t>(modrm));
                    code.insert(code.end(), 12, 0);
                    auto insns = disassemble(a, code, base);
                    REQUIRE(insns);
                    const auto& one = insns->front();
                    if (one.text.starts_with(".byte") || (prefix == 0x66 && one.target)) continue;
                    const auto ours = decode_x86(code);
                    INFO(one.text);
                    // Reserved forms that Capstone reads all the same. Those of control registers name no
                    // memory.
                    if (!ours || one.text.starts_with("ud2b") || one.text.starts_with("extrq")) continue;
                    if (one.text.find("%cr") != std::string::npos || one.text.find("%dr") != std::string::npos)
                        continue;
                    compared++;
                    CHECK(int(ours->length) == int(one.bytes.size()));
                }
    CHECK(compared > 4000);
}

TEST_CASE("arm64: what can be stepped or simulated") {
    const std::pair<const char*, const char*> rows[] = {
        {"00 00 80 d2", "+0 + no_boost no_optprobes\n"},            // mov x0, #0
        {"01 00 00 14", "+0 + no_boost no_optprobes\n"},            // b
        {"20 00 00 54", "+0 + no_boost no_optprobes\n"},            // b.eq
        {"c0 03 5f d6", "+0 + no_boost no_optprobes\n"},            // ret
        {"ff 0b 5f d6", "+0 not_stepped no_boost no_optprobes\n"},  // retaa
        {"e0 03 9f d6", "+0 not_stepped no_boost no_optprobes\n"},  // eret
        {"00 00 20 d4", "+0 not_stepped no_boost no_optprobes\n"},  // brk
        {"01 00 00 d4", "+0 not_stepped no_boost no_optprobes\n"},  // svc
        {"df 42 03 d5", "+0 not_stepped no_boost no_optprobes\n"},  // msr daifset
        {"20 42 3b d5", "+0 not_stepped no_boost no_optprobes\n"},  // mrs x0, daif
        {"00 41 38 d5", "+0 + no_boost no_optprobes\n"},            // mrs x0, sp_el0
        {"3f 20 03 d5", "+0 not_stepped no_boost no_optprobes\n"},  // yield
        {"3f 23 03 d5", "+0 + no_boost no_optprobes\n"},            // paciasp
        {"00 00 00 58", "+0 + no_boost no_optprobes\n"},            // ldr x0, literal
        {"00 00 00 1c", "+0 not_stepped no_boost no_optprobes\n"},  // ldr s0, literal
    };
    for (const auto& [code, expected] : rows) {
        INFO(code);
        CHECK(Function(code).arm64() == expected);
    }
    // ldxr, add, stxr, nop
    CHECK(Function("20 7c 5f 88 00 04 00 11 20 7c 02 88 1f 20 03 d5").arm64() ==
          "+0 not_stepped no_boost no_optprobes\n"
          "+4 exclusive no_boost no_optprobes\n"
          "+8 not_stepped no_boost no_optprobes\n"
          "+c + no_boost no_optprobes\n");
    // bti c, nop, nop: the site of ftrace
    CHECK(Function("5f 24 03 d5 1f 20 03 d5 1f 20 03 d5").arm64() ==
          "+0 + no_boost no_optprobes\n"
          "+4 + no_boost no_optprobes\n"
          "+8 ftrace_only no_boost no_optprobes\n");
    Function fixed("00 00 80 d2");
    fixed.facts.fixups = {base};
    CHECK(fixed.arm64() == "+0 fixup no_boost no_optprobes\n");
}

TEST_CASE("reasons as text") {
    CHECK(text_of({}, base).empty());
    CHECK(text_of({Why::jump_into, base + 0x1a}, base) == "jump into the region, from +0x1a");
    CHECK(text_of({Why::bug}, base) == "BUG or WARN: the trap is found by its address");
    CHECK(name_of(Why::none).empty());
    CHECK(name_of(Why::region_probe) == "region_probe");
}

TEST_CASE("every architecture has its rules") {
    for (const Arch* a : all_archs()) {
        INFO(a->name);
        REQUIRE(a->points);
        FunctionFacts facts;
        facts.addr = base;
        CHECK(analyse(*a, facts).empty());
        // What no architecture probes, and what is no code at all: a verdict for each byte, none behind the
        // end.
        for (size_t size = 1; size <= 64; size++) {
            std::vector<uint8_t> code(size);
            for (size_t i = 0; i < size; i++) code[i] = static_cast<uint8_t>(i * 37 + size);
            facts.code = code;
            facts.size = size;
            facts.blacklist = {{base, base + size}};
            uint64_t at = base;
            for (const ProbePoint& point : analyse(*a, facts)) {
                CHECK(point.addr == at);
                CHECK_FALSE(point.probe.yes());
                CHECK_FALSE(point.optimize.yes());
                at += point.length;
            }
            CHECK(at <= base + size + 15);
        }
        // nop; a place is optimized only where the row says what stands there then.
        const std::vector<uint8_t> nops =
            a->name == "x86_64" ? std::vector<uint8_t>(16, 0x90) : bytes("1f 20 03 d5 1f 20 03 d5");
        facts.code = nops;
        facts.size = nops.size();
        facts.blacklist.clear();
        const auto points = analyse(*a, facts);
        REQUIRE_FALSE(points.empty());
        CHECK(points[0].probe.yes());
        CHECK(points[0].optimize.yes() == (a->jump != 0));
    }
}
