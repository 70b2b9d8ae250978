// SPDX-License-Identifier: MIT
#include "arch/arch.hpp"

#include <sys/utsname.h>

#include <catch2/catch.hpp>
#include <set>

#include "arch/disasm.hpp"

using namespace kpl;

namespace {

const Arch& arch(std::string_view name) {
    for (const Arch* a : all_archs())
        if (a->name == name) return *a;
    FAIL("no such architecture");
    return host_arch();
}

std::vector<NativeInsn> decoded(const Arch& a, const std::vector<uint8_t>& code, uint64_t addr) {
    auto insns = disassemble(a, code, addr);
    if (!insns) FAIL(insns.error().text);
    return std::move(*insns);
}

std::set<std::string_view> valid_at_entry(const Arch& a) {
    std::set<std::string_view> names;
    for (const RegisterRow& row : a.regs)
        if (row.at_entry) names.insert(row.name);
    return names;
}

// struct pt_regs as the kernel declares it (its own header names the registers otherwise in user space).
struct X86Regs {
    unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

}  // namespace

TEST_CASE("the host has a row") {
    utsname name;
    REQUIRE(uname(&name) == 0);
    CHECK(host_arch().name == name.machine);
    CHECK(all_archs().size() == 2);
}

TEST_CASE("rows are consistent") {
    for (const Arch* a : all_archs()) {
        INFO(a->name);
        std::set<std::string_view> names;
        for (const RegisterRow& row : a->regs) {
            INFO(row.name);
            CHECK(names.insert(row.name).second);
            CHECK(row.offset % 8 == 0);
            CHECK(row.offset + 8 <= a->regs_size);
            CHECK(a->reg(row.name) == row.offset);
            // An alias is the same register.
            for (const RegisterRow& other : a->regs)
                if (other.offset == row.offset) CHECK(other.at_entry == row.at_entry);
        }
        CHECK_FALSE(a->reg("nothing"));
        CHECK_FALSE(a->reg(""));
        auto must_be_valid = [&](uint16_t offset) {
            bool found = false;
            for (const RegisterRow& row : a->regs)
                if (row.offset == offset) found = row.at_entry;
            CHECK(found);
        };
        // Arguments, ip and sp need no more than the cheap entry path.
        for (uint16_t offset : a->args) must_be_valid(offset);
        must_be_valid(a->ip);
        must_be_valid(a->sp);
    }
}

TEST_CASE("x86_64") {
    const Arch& a = arch("x86_64");
    CHECK(a.regs_size == sizeof(X86Regs));
#define OFFSET(field) CHECK(a.reg(#field) == offsetof(X86Regs, field))
    OFFSET(r15);
    OFFSET(r14);
    OFFSET(r13);
    OFFSET(r12);
    OFFSET(bp);
    OFFSET(bx);
    OFFSET(r11);
    OFFSET(r10);
    OFFSET(r9);
    OFFSET(r8);
    OFFSET(ax);
    OFFSET(cx);
    OFFSET(dx);
    OFFSET(si);
    OFFSET(di);
    OFFSET(orig_ax);
    OFFSET(ip);
    OFFSET(cs);
    OFFSET(flags);
    OFFSET(sp);
    OFFSET(ss);
#undef OFFSET
    for (auto [alias, name] : {std::pair{"rax", "ax"},
                               {"rbx", "bx"},
                               {"rcx", "cx"},
                               {"rdx", "dx"},
                               {"rsi", "si"},
                               {"rdi", "di"},
                               {"rbp", "bp"},
                               {"rsp", "sp"},
                               {"rip", "ip"},
                               {"eflags", "flags"},
                               {"orig_rax", "orig_ax"}})
        CHECK(a.reg(alias) == a.reg(name));
    const char* order[] = {"di", "si", "dx", "cx", "r8", "r9"};
    REQUIRE(a.args.size() == std::size(order));
    for (size_t i = 0; i < a.args.size(); i++) CHECK(a.args[i] == a.reg(order[i]));
    CHECK(a.ret == a.reg("ax"));
    CHECK(a.ip == a.reg("ip"));
    CHECK(a.sp == a.reg("sp"));
    CHECK(a.stack_arg == 8);
    CHECK(valid_at_entry(a) == std::set<std::string_view>{"di", "si", "dx", "cx", "r8", "r9", "ax", "bp", "ip", "sp",
                                                          "rdi", "rsi", "rdx", "rcx", "rax", "rbp", "rip", "rsp"});
}

TEST_CASE("aarch64") {
    const Arch& a = arch("aarch64");
    for (uint16_t i = 0; i <= 30; i++) CHECK(a.reg("x" + std::to_string(i)) == i * 8);
    CHECK(a.reg("sp") == 248);
    CHECK(a.reg("pc") == 256);
    CHECK(a.reg("pstate") == 264);
    CHECK(a.reg("fp") == a.reg("x29"));
    CHECK(a.reg("lr") == a.reg("x30"));
    REQUIRE(a.args.size() == 8);
    for (uint16_t i = 0; i < 8; i++) CHECK(a.args[i] == i * 8);
    CHECK(a.ret == 0);
    CHECK(a.ip == a.reg("pc"));
    CHECK(a.sp == a.reg("sp"));
    CHECK(a.stack_arg == 0);
}

TEST_CASE("native code of x86_64 as text") {
    const std::vector<uint8_t> code = {0xf3, 0x0f, 0x1e, 0xfa,        // endbr64
                                       0x48, 0x8b, 0x47, 0x08,        // mov 8(%rdi), %rax
                                       0xe8, 0x0b, 0x00, 0x00, 0x00,  // call, 11 bytes on
                                       0x74, 0xf7,                    // je, 9 bytes back
                                       0xff, 0xd0,                    // call *%rax
                                       0x06,                          // nothing in 64-bit mode
                                       0xc3, 0x48};                   // ret, and half an instruction
    auto insns = decoded(arch("x86_64"), code, 0xffffffff81000000);
    REQUIRE(insns.size() == 8);
    CHECK(insns[0].text == "endbr64");
    CHECK(insns[1].text == "movq 8(%rdi), %rax");
    CHECK(insns[1].addr == 0xffffffff81000004);
    CHECK_FALSE(insns[1].target);
    CHECK(insns[2].target == 0xffffffff81000018);
    CHECK(insns[3].target == 0xffffffff81000006);
    CHECK_FALSE(insns[4].target);
    CHECK(insns[5].text == ".byte 0x06");
    CHECK(insns[6].text == "retq");
    CHECK(insns[7].text == ".byte 0x48");
    size_t total = 0;
    for (const NativeInsn& insn : insns) total += insn.bytes.size();
    CHECK(total == code.size());

    auto name_of = [](uint64_t addr) { return addr == 0xffffffff81000018 ? std::string("vfs_read") : std::string(); };
    std::string text = print_native(insns, name_of);
    CHECK(text.find("ffffffff81000004  48 8b 47 08     movq 8(%rdi), %rax\n") != std::string::npos);
    CHECK(text.find("callq 0xffffffff81000018  <vfs_read>\n") != std::string::npos);
    CHECK(text.find("je 0xffffffff81000006\n") != std::string::npos);
    CHECK(print_native({}) == "");
}

TEST_CASE("native code of aarch64 as text") {
    const std::vector<uint8_t> code = {0x00, 0x04, 0x40, 0xf9,  // ldr x0, [x0, #8]
                                       0x02, 0x00, 0x00, 0x94,  // bl, 8 on
                                       0x60, 0x00, 0x00, 0xb4,  // cbz x0, 12 on
                                       0xff, 0xff, 0xff, 0xff,  // nothing
                                       0xc0, 0x03, 0x5f, 0xd6,  // ret
                                       0x00, 0x04};
    auto insns = decoded(arch("aarch64"), code, 0x1000);
    REQUIRE(insns.size() == 6);
    CHECK(insns[0].text == "ldr x0, [x0, #8]");
    CHECK(insns[1].target == 0x100c);
    CHECK(insns[2].target == 0x1014);
    CHECK(insns[3].text == ".byte 0xff, 0xff, 0xff, 0xff");
    CHECK(insns[4].text == "ret");
    CHECK(insns[5].text == ".byte 0x00, 0x04");
}

TEST_CASE("any bytes come out whole") {
    for (const Arch* a : all_archs()) {
        std::vector<uint8_t> code;
        for (uint32_t i = 0, x = 1; i < 20000; i++, x = x * 1664525 + 1013904223)
            code.push_back(static_cast<uint8_t>(x >> 24));
        size_t total = 0;
        for (const NativeInsn& insn : decoded(*a, code, 0)) {
            CHECK_FALSE(insn.text.empty());
            CHECK(insn.addr == total);
            total += insn.bytes.size();
        }
        CHECK(total == code.size());
    }
}
