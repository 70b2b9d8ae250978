// SPDX-License-Identifier: MIT
// Marks of programs (USDT): what their notes say that they pass, and where they are. What is looked into is this test.
#include "programs/marks.hpp"

#include <catch2/catch.hpp>
#include <span>
#include <string>
#include <vector>

#include "arch/arch.hpp"
#include "programs/program.hpp"

using namespace kpl;

extern "C" {
extern unsigned short kpl_test_semaphore;
extern int kpl_test_counter;
void kpl_test_mark();  // where the first mark stands
[[gnu::section(".probes"), gnu::used]] unsigned short kpl_test_semaphore = 0;
[[gnu::used]] int kpl_test_counter = 7;
}

namespace {

// "-4 di", "8 at sp+8+ax*8", "2 is 5", "4 at ip+table-8": what the description says; "?": nothing.
std::string meaning(const Arch& arch, const MarkArg& arg) {
    const auto name = [&](uint16_t offset) {
        for (const RegisterRow& row : arch.regs)
            if (row.offset == offset) return std::string(row.name);
        return std::string("?");
    };
    const std::string size = (arg.is_signed ? "-" : "") + std::to_string(arg.size) + " ";
    const std::string number = (arg.number < 0 ? "" : "+") + std::to_string(arg.number);
    switch (arg.in) {
        case MarkArg::In::Nowhere: return "?";
        case MarkArg::In::Number: return size + "is " + std::to_string(arg.number);
        case MarkArg::In::Register: return size + name(arg.base) + (arg.shift ? ">>" + std::to_string(arg.shift) : "");
        case MarkArg::In::Memory: break;
    }
    std::string text = size + "at " + name(arg.base);
    if (!arg.symbol.empty()) text += "+" + arg.symbol;
    if (arg.number) text += number;
    if (arg.scale) text += "+" + name(arg.index) + "*" + std::to_string(arg.scale);
    return text;
}

const Arch& arch_of(std::string_view name) {
    for (const Arch* arch : all_archs())
        if (arch->name == name) return *arch;
    FAIL("no such architecture");
    return host_arch();
}

struct Row {
    const char *description, *meaning;
};

void check_rows(const Arch& arch, std::span<const Row> rows) {
    for (const Row& row : rows) {
        INFO(row.description);
        const auto args = parse_mark_args(arch, row.description);
        REQUIRE(args.size() == 1);
        CHECK(args[0].text == row.description);
        CHECK(meaning(arch, args[0]) == row.meaning);
    }
}

// The mark marks_test:here, twice, and notes that are none. The base says that all has moved by 16, back again.
#define NOTE(name, type, address, base, semaphore, texts)      \
    ".pushsection .note.stapsdt, \"?\", \"note\"\n.balign 4\n" \
    ".4byte 992f - 991f, 994f - 993f, " type                   \
    "\n"                                                       \
    "991: .asciz \"" name                                      \
    "\"\n992: .balign 4\n"                                     \
    "993: .8byte " address ", " base ", " semaphore "\n" texts \
    "\n"                                                       \
    "994: .balign 4\n.popsection\n"

[[gnu::noinline, gnu::used]] void marked() {
    asm volatile(
        ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
        ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n.popsection\n"
        "kpl_test_mark: .globl kpl_test_mark\n"
        "990: nop\n" NOTE(
            "stapsdt", "3", "990b - 16", "_.stapsdt.base - 16", "kpl_test_semaphore - 16",
            ".asciz \"marks_test\", \"here\", \"-4@$-5 4@kpl_test_counter+4(%rip) 8@nowhere(%rip)\"") "995: nop\n" NOTE("stapsdt",
                                                                                                                        "3",
                                                                                                                        "995b",
                                                                                                                        "0",
                                                                                                                        "0",
                                                                                                                        ".asciz \"marks_test\", \"here\", \"\"")
        // of another owner; of another type; at no code; with a semaphore that is no data; without an end
        NOTE("stapsd", "3", "995b", "0", "0", ".asciz \"marks_test\", \"owner\", \"\"")
            NOTE("stapsdt", "4", "995b", "0", "0", ".asciz \"marks_test\", \"type\", \"\"")
                NOTE("stapsdt", "3", "1", "0", "0", ".asciz \"marks_test\", \"nowhere\", \"\"")
                    NOTE("stapsdt", "3", "995b", "0", "995b", ".asciz \"marks_test\", \"semaphore\", \"\"")
                        NOTE("stapsdt", "3", "995b", "0", "0", ".asciz \"marks_test\", \"open\"\n.ascii \"8@%rax\"")
                            NOTE("stapsdt", "3", "995b", "0", "0", ".asciz \"marks_test\", \"\", \"\""));
}

}  // namespace

TEST_CASE("what x86-64's operands say") {
    constexpr Row rows[] = {
        {"8@%rax", "8 ax"},
        {"-8@%r15", "-8 r15"},
        {"-4@%eax", "-4 ax"},
        {"4@%r8d", "4 r8"},
        {"2@%r10w", "2 r10"},
        {"-2@%si", "-2 si"},
        {"1@%r9b", "1 r9"},
        {"-1@%dil", "-1 di"},
        {"1@%bpl", "1 bp"},
        {"1@%cl", "1 cx"},
        {"-1@%ah", "-1 ax>>8"},
        {"1@%bh", "1 bx>>8"},
        {"8@%eax", "4 ax"},  // no more than there is
        {"%rdi", "-8 di"},   // without a size, it is a long
        {"-4@$5", "-4 is 5"},
        {"8@$-1", "8 is -1"},
        {"4@$-1", "4 is 4294967295"},
        {"-1@$255", "-1 is -1"},
        {"-8@$0x10", "-8 is 16"},
        {"8@$18446744073709551615", "8 is -1"},
        {"4@-20(%rbp)", "4 at bp-20"},
        {"-8@(%rsp)", "-8 at sp"},
        {"8@8(%rsp,%rax,8)", "8 at sp+8+ax*8"},
        {"8@(%rsp,%r12)", "8 at sp+r12*1"},
        {"2@-0x10+4(%rbx)", "2 at bx-12"},
        {"-4@counter(%rip)", "-4 at ip+counter"},
        {"8@table+8(%rip)", "8 at ip+table+8"},
        {"8@-8+counter.3(%rip)", "8 at ip+counter.3-8"},
        {"4@counter", "4 at ip+counter"},
        {"8@table(,%rax,8)", "8 at ip+table+ax*8"},
        // floating point; segments; what no address is known of; what no register, no size, no operand is
        {"8f@%xmm0", "?"},
        {"8@%xmm0", "?"},
        {"8@%fs:16", "?"},
        {"8@16(%rip)", "?"},
        {"8@counter@GOTPCREL(%rip)", "?"},
        {"8@table(%rbx)", "?"},
        {"8@$table", "?"},
        {"8@%r16", "?"},
        {"8@%rd", "?"},
        {"8@%r8l", "?"},
        {"8@%orig_rax", "?"},
        {"8@(%eax)", "?"},
        {"8@(%rax,%rsp)", "?"},
        {"8@(%rax,%rbx,3)", "?"},
        {"8@(%rax,%rbx,)", "?"},
        {"8@(%rax", "?"},
        {"8@(,)", "?"},
        {"8@()", "?"},
        {"3@%rax", "?"},
        {"16@%rax", "?"},
        {"-@%rax", "?"},
        {"@%rax", "?"},
        {"8@", "?"},
        {"8@5", "?"},
        {"8@$", "?"},
        {"8@$99999999999999999999", "?"},
        {"8@$5x", "?"},
        {"8@5-(%rax)", "?"},
        {"8@-sym(%rip)", "?"},
        {"8@a+b(%rip)", "?"},
        {"8@%", "?"},
    };
    check_rows(arch_of("x86_64"), rows);
}

TEST_CASE("what arm64's operands say") {
    constexpr Row rows[] = {
        {"8@x0", "8 x0"},
        {"-4@w30", "-4 x30"},
        {"8@sp", "8 sp"},
        {"8@w3", "4 x3"},
        {"-4@[sp, 12]", "-4 at sp+12"},
        {"8@[x29, #-16]", "8 at x29-16"},
        {"1@[x1]", "1 at x1"},
        {"8@[x1, x2]", "8 at x1+x2*1"},
        {"8@[x1, x2, lsl 3]", "8 at x1+x2*8"},
        {"-4@5", "-4 is 5"},
        {"4@#-1", "4 is 4294967295"},
        {"8@xzr", "8 is 0"},
        {"8@[x0, #:lo12:counter]", "?"},
        {"8@[x1, w2, sxtw 3]", "?"},
        {"8@[x1, x2, lsl 4]", "?"},
        {"8@[w0]", "?"},
        {"8@[x0, 8]!", "?"},
        {"8@[]", "?"},
        {"8@x31", "?"},
        {"8@d0", "?"},
        {"8@", "?"},
    };
    check_rows(arch_of("aarch64"), rows);
}

TEST_CASE("several arguments are told apart, and none is left out") {
    const Arch& x86 = arch_of("x86_64");
    CHECK(parse_mark_args(x86, "").empty());
    CHECK(parse_mark_args(x86, "   ").empty());
    const auto args = parse_mark_args(x86, "  -4@$1 8f@%xmm0  8@8(%rsp, %rax, 8) nothing ");
    REQUIRE(args.size() == 4);
    CHECK(mark_arg_type(args[0]) == "int32_t");
    CHECK(mark_arg_type(args[1]) == "8f@%xmm0");
    CHECK(args[2].text == "8@8(%rsp, %rax, 8)");
    CHECK(parse_mark_args(arch_of("aarch64"), "8@[sp, 16] 1@w0").size() == 2);
    CHECK(mark_arg_type(parse_mark_args(x86, "1@%al")[0]) == "uint8_t");
}

TEST_CASE("a program's marks are found where it has them, and notes that are none are left out") {
    auto opened = Program::open("/proc/self/exe", host_arch().elf_machine);
    REQUIRE(opened);
    Program& program = **opened;
    const auto found = program.marks();
    REQUIRE(found);
    std::vector<ProgramMark> marks = **found;
    // A program that links the whole library has the library's own, too.
    std::erase_if(marks, [](const ProgramMark& mark) { return mark.provider != "marks_test"; });
    REQUIRE(marks.size() == 2);
    const auto function = program.find("kpl_test_mark");
    REQUIRE(function);
    REQUIRE(function->size() == 1);
    for (const ProgramMark& mark : marks) CHECK(mark.text() == "marks_test:here");
    CHECK(marks[0].address == (*function)[0].address);
    CHECK(marks[1].address == marks[0].address + 1);
    CHECK(marks[0].file_offset == program.file_offset(marks[0].address));
    CHECK(program.address_of(marks[0].semaphore) != 0);
    CHECK(marks[1].semaphore == 0);
    const auto in_process = [&](uint64_t address) {
        return address - marks[0].address + reinterpret_cast<uint64_t>(&kpl_test_mark);
    };
    CHECK(in_process(*program.address_of(marks[0].semaphore)) == reinterpret_cast<uint64_t>(&kpl_test_semaphore));
    REQUIRE(marks[0].args.size() == 3);
    CHECK(marks[0].args[0].number == -5);
    CHECK(marks[0].args[1].in == MarkArg::In::Memory);
    CHECK(reinterpret_cast<uint64_t>(&kpl_test_mark) + static_cast<uint64_t>(marks[0].args[1].number) ==
          reinterpret_cast<uint64_t>(&kpl_test_counter + 1));
    CHECK(marks[0].args[2].in == MarkArg::In::Nowhere);
    CHECK(marks[1].args.empty());
}
