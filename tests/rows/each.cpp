// SPDX-License-Identifier: MIT
#include "rows/each.hpp"

#include <fmt/format.h>

#include <climits>

namespace kpl::rows {
namespace {

constexpr int nr_registers = 9, nr_slots = KPL_MAX_STACK / 8;
constexpr int object_size = 64;
constexpr const char *registers = "registers", *untested = "a record that was not tested";

// r6 is the hit, r7 the number 8. `code` brings the pointer to r2.
constexpr std::string_view start = "r6 = r1\nr7 = 8\n";
constexpr std::string_view begin_record = "r2 = 3\nr3 = 64\nr4 = 64\ncall rec_begin\n";

struct Pointer {
    std::string name, code, end;
    bool adds, loads, stores;
    int low, high;  // bytes from where it points; 0, 0: there are none. Registers: x86-64's
};

std::vector<Pointer> pointers() {
    const std::string begin(begin_record);
    return {
        {"the hit", "r2 = r1\n", "", false, false, false, 0, 0},
        {registers, "r2 = *(u64 *)(r1 + 0)\n", "", false, true, false, 0, 21 * 8},
        {"data", "r2 = *(u64 *)(r1 + 8)\n", "", true, true, true, 0, object_size},
        {"scratch", "r2 = *(u64 *)(r1 + 16)\n", "", true, true, true, 0, object_size},
        {"the stack", "*(u64 *)(r10 - 16) = 0\n*(u64 *)(r10 - 8) = 0\nr2 = r10\n", "", true, true, true, -KPL_MAX_STACK,
         0},
        {"a map", "r2 = map 0\n", "", false, false, false, 0, 0},
        {"a record", begin + "if r0 != 0 goto +2\nr0 = 0\nexit\nr8 = r0\nr2 = r0\n",
         "r1 = r6\nr2 = r8\ncall rec_drop\n", true, false, true, 0, object_size},
        {untested, begin + "r2 = r0\n", "", false, false, false, 0, 0},
    };
}

// Forms of instructions, by one that has it. Fields that it uses: d (written), b (only read), s, o, i.
struct Form {
    const char* name;
    int code;
    const char* uses;
    int imm;
};
constexpr Form forms[] = {
    {"an operation by a number", 0x07, "di", 1},
    {"a move of a number", 0xb7, "di", 1},
    {"an operation by a register", 0x0f, "ds", 0},
    {"a move of a register", 0xbf, "ds", 0},
    {"a negation", 0x87, "d", 0},
    {"a swap", 0xdc, "di", 16},
    {"a load", 0x79, "dso", 0},
    {"a store of a number", 0x7a, "boi", 0},
    {"a store of a register", 0x7b, "bso", 0},
    {"a constant of 64 bits", 0x18, "di", 0},
    {"a jump by a number", 0x15, "boi", 0},
    {"a jump by a register", 0x1d, "bso", 0},
    {"a jump", 0x05, "o", 0},
    {"a call", 0x85, "i", KPL_H_now},
    {"exit", 0x95, "", 0},
};

constexpr int conditions[] = {BPF_JEQ, BPF_JGT, BPF_JGE,  BPF_JSET, BPF_JNE, BPF_JSGT,
                              BPF_JLT, BPF_JLE, BPF_JSGE, BPF_JSLT, BPF_JSLE};
constexpr int operations[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,   BPF_AND,
                              BPF_LSH, BPF_RSH, BPF_MOD, BPF_XOR, BPF_ARSH, BPF_MOV};

std::string insn(int code, int dst, int src, int off, int imm) {
    return fmt::format(".insn {:#x} {} {} {} {}\n", code, dst, src, off, imm);
}

constexpr int widths[] = {INT_MIN, INT_MIN + 16, -64, -32, -16, 0,  1,  8,  15, 16, 17,  24,
                          31,      32,           33,  40,  48,  63, 64, 65, 80, 96, 128, 192};

class Each {
  public:
    Result<std::vector<Row>> rows() {
        TRY(registers_at_edges());
        TRY(records_in_registers());
        TRY(slots_at_edges());
        TRY(fields());
        TRY(swaps());
        for (const Pointer& pointer : pointers()) {
            TRY(arithmetic(pointer));
            TRY(comparisons(pointer));
            TRY(accesses(pointer));
        }
        return std::move(rows_);
    }

  private:
    // What it is to be refused for lies at `pc`.
    Result<void> add(std::string name, const std::string& code, uint32_t reject = KPL_REJECT_NONE, size_t pc = 0) {
        Row row;
        row.name = std::move(name);
        row.code = TRY(assemble(code));
        row.kind = KPL_PROG_RET;
        row.data_size = row.scratch_size = object_size;
        row.reject = reject;
        row.reject_pc = reject ? static_cast<uint32_t>(pc) : 0;
        kpl_map_create request{};
        request.kind = KPL_MAP_COUNT;
        row.maps.push_back(SimMap::create(request));
        rows_.push_back(std::move(row));
        return {};
    }

    // `code` behind what brings the pointer to r2.
    Result<void> add(const std::string& name, const Pointer& pointer, const std::string& code, uint32_t reject) {
        const std::string before = std::string(start) + pointer.code;
        const size_t pc = TRY(assemble(before + code)).insns.size() - 1;
        return add(fmt::format("{}: {}", pointer.name, name), before + code + pointer.end + "r0 = 0\nexit\n", reject,
                   pc);
    }

    // Labels, and where two ways meet: one register differs.
    Result<void> registers_at_edges() {
        for (int nr = 0; nr < nr_registers; nr++) {
            const std::string r = fmt::format("r{}", nr);
            const std::string read = "r0 = " + r + "\nexit\n", pointer = r + " = r10\n", number = r + " = 5\n";
            auto label = [&](const char* state) { return fmt::format("label: {{{}{}}}\n", r, state); };
            TRY(add(r + " is declared", number + label("=num") + read));
            TRY(add(r + " is not declared", number + "label: {}\n" + read, KPL_REJECT_UNINIT, 1));
            TRY(add(r + ": a number is declared", pointer + label("=num") + "r0 = 0\nexit\n", KPL_REJECT_STATE, 0));
            TRY(add(r + ": a pointer is declared", number + label("=stack") + "r0 = 0\nexit\n", KPL_REJECT_STATE, 0));
            TRY(add(r + ": another offset is declared",
                    pointer + r + " += -8\n" + label("=stack-16") + "r0 = 0\nexit\n", KPL_REJECT_STATE, 1));
            TRY(add(r + ": what can't be is declared", "r0 = 0\n" + label("=hit+8") + "r0 = 0\nexit\n",
                    KPL_REJECT_LABEL, 1));
            const int other = nr == 2 ? 3 : 2;
            auto meet = [&](const std::string& jumps, const std::string& falls) {
                return fmt::format("r{} = *(u64 *)(r1 + 24)\n{}if r{} == 0 goto +1\n{}", other, jumps, other, falls);
            };
            TRY(add(r + ": two numbers meet", meet(number, r + " = 6\n") + read));
            TRY(add(r + ": a pointer jumps, a number falls through", meet(pointer, number) + read, KPL_REJECT_UNINIT,
                    4));
            TRY(add(r + ": a number jumps, a pointer falls through",
                    meet(number, pointer) + fmt::format("*(u64 *)({} - 8) = 1\nr0 = 0\nexit\n", r), KPL_REJECT_UNINIT,
                    4));
        }
        return {};
    }

    // A copy of a record in each register is what the test says, and is lost with the record.
    Result<void> records_in_registers() {
        for (int nr = 0; nr < nr_registers; nr++) {
            const int hit = nr == 6 ? 7 : 6;
            const std::string store = fmt::format("*(u64 *)(r{} + 0) = 1\n", nr);
            const std::string code = fmt::format(
                "r{1} = r1\n{2}r{0} = r0\nif r0 != 0 goto +2\nr0 = r{0}\nexit\n{3}r1 = r{1}\nr2 = r0\ncall rec_end\n",
                nr, hit, begin_record, store);
            TRY(add(fmt::format("r{} is a record, or 0", nr), code + "r0 = 0\nexit\n"));
            TRY(add(fmt::format("r{} was a record", nr), code + store + "r0 = 0\nexit\n", KPL_REJECT_UNINIT, 13));
        }
        return {};
    }

    Result<void> slots_at_edges() {
        for (int slot = 0; slot < nr_slots; slot++) {
            const std::string at = fmt::format("*(u64 *)(r10 - {})", 8 * (slot + 1));
            const std::string write = at + " = 1\n", read = "r0 = " + at + "\nexit\n";
            const std::string label = fmt::format("label: {{stack={:#x}}}\n", 1ull << slot);
            TRY(add(at + " is declared", write + label + read));
            TRY(add(at + " is not declared", write + "label: {}\n" + read, KPL_REJECT_STACK_UNINIT, 1));
            TRY(add(at + " is declared, and was not written", "r0 = 0\n" + label + "r0 = 0\nexit\n", KPL_REJECT_STATE,
                    0));
            TRY(add(at + " is written where no jump passes over it",
                    "r2 = *(u64 *)(r1 + 24)\nif r2 == 0 goto +1\n" + write + read, KPL_REJECT_STACK_UNINIT, 3));
        }
        return {};
    }

    Result<void> fields() {
        for (const Form& form : forms) {
            const std::string_view uses = form.uses;
            auto used = [&](char field) { return uses.find(field) != uses.npos; };
            const bool writes = used('d'), dst = writes || used('b'), src = used('s');
            auto one = [&](const char* field, int value, uint32_t reject) {
                const std::string_view is = field;
                const std::string code = insn(form.code, is == "dst" ? value : 0, is == "src" ? value : 0,
                                              is == "off" ? value : 0, is == "imm" ? value : form.imm);
                return add(fmt::format("{}: {} {}", form.name, field, value), "r0 = 0\n" + code + "r0 = 0\nexit\n",
                           reject, 1);
            };
            for (int reg : {9, 11, 12, 13, 14, 15}) {
                TRY(one("dst", reg, dst ? KPL_REJECT_REGISTER : KPL_REJECT_FIELD));
                TRY(one("src", reg, src ? KPL_REJECT_REGISTER : KPL_REJECT_FIELD));
            }
            if (!dst) TRY(one("dst", 1, KPL_REJECT_FIELD));
            if (writes) TRY(one("dst", 10, KPL_REJECT_REGISTER));
            for (int value : {1, 8, -1, INT16_MIN}) {
                if (!used('o')) TRY(one("off", value, KPL_REJECT_FIELD));
                if (!used('i')) TRY(one("imm", value, KPL_REJECT_FIELD));
            }
        }
        return {};
    }

    Result<void> swaps() {
        for (int code : {BPF_ALU | BPF_END | BPF_TO_LE, BPF_ALU | BPF_END | BPF_TO_BE})
            for (int width : widths) {
                const bool right = width == 16 || width == 32 || width == 64;
                TRY(add(fmt::format("swap {:#x} of {} bits", code, width),
                        "r0 = 1\n" + insn(code, 0, 0, 0, width) + "exit\n", right ? KPL_REJECT_NONE : KPL_REJECT_FIELD,
                        1));
            }
        return {};
    }

    // Of all, a pointer takes the sum with a number that is known, and is moved.
    Result<void> arithmetic(const Pointer& pointer) {
        for (int op : operations)
            for (int width : {BPF_ALU, BPF_ALU64}) {
                const int code = width | op;
                const bool sum = pointer.adds && code == (BPF_ALU64 | BPF_ADD);
                if (op != BPF_MOV) {
                    TRY(add(fmt::format("{:#x}", code), pointer, insn(code | BPF_K, 2, 0, 0, 8),
                            sum ? KPL_REJECT_NONE : KPL_REJECT_POINTER));
                    TRY(add(fmt::format("{:#x} by a number", code | BPF_X), pointer, insn(code | BPF_X, 2, 7, 0, 0),
                            KPL_REJECT_POINTER));
                    TRY(add(fmt::format("{:#x} by itself", code | BPF_X), pointer, insn(code | BPF_X, 2, 2, 0, 0),
                            KPL_REJECT_POINTER));
                }
                if (code != (BPF_ALU64 | BPF_MOV))
                    TRY(add(fmt::format("a number's {:#x} by it", code | BPF_X), pointer,
                            insn(code | BPF_X, 7, 2, 0, 0), KPL_REJECT_POINTER));
            }
        for (int width : {BPF_ALU, BPF_ALU64})
            TRY(add(fmt::format("{:#x}", width | BPF_NEG), pointer, insn(width | BPF_NEG, 2, 0, 0, 0),
                    KPL_REJECT_POINTER));
        for (int order : {BPF_TO_LE, BPF_TO_BE})
            for (int bits : {16, 32, 64})
                TRY(add(fmt::format("{:#x} of {} bits", BPF_ALU | BPF_END | order, bits), pointer,
                        insn(BPF_ALU | BPF_END | order, 2, 0, 0, bits), KPL_REJECT_POINTER));
        return {};
    }

    // None but a record that was not tested: with 0, whether they are equal.
    Result<void> comparisons(const Pointer& pointer) {
        for (int op : conditions)
            for (int width : {BPF_JMP, BPF_JMP32}) {
                const int code = width | op;
                const bool tests = code == (BPF_JMP | BPF_JEQ) || code == (BPF_JMP | BPF_JNE);
                for (int with : {0, 1, -1, INT_MIN, INT_MAX})
                    if (pointer.name != untested || !tests || with != 0)
                        TRY(add(fmt::format("{:#x} with {}", code, with), pointer, insn(code | BPF_K, 2, 0, 0, with),
                                KPL_REJECT_POINTER));
                for (auto [dst, src] : {std::pair{2, 7}, {7, 2}, {2, 2}, {2, 10}})
                    TRY(add(fmt::format("{:#x} of r{} and r{}", code | BPF_X, dst, src), pointer,
                            insn(code | BPF_X, dst, src, 0, 0), KPL_REJECT_POINTER));
            }
        return {};
    }

    // At the ends of what it points to, from there and from another place; 16 bytes of the stack are written.
    Result<void> accesses(const Pointer& pointer) {
        static constexpr std::pair<int, int> modes[] = {{BPF_B, 1}, {BPF_H, 2}, {BPF_W, 4}, {BPF_DW, 8}};
        const int low = pointer.low, high = pointer.high;
        const bool stack = low < 0, whole = pointer.name == registers;
        for (int from : {0, 12})
            for (auto [mode, size] : modes)
                for (int off :
                     {low - 8, low - 1, low, low + 1, low + 2, low + 4, low + 8, high - 24, high - 20, high - 18,
                      high - 17, high - 16, high - 8, high - 4, high - 2, high - 1, high, high + 8}) {
                    if (low == high || (from && !pointer.adds)) continue;
                    uint32_t reject = off < low || off + size > high            ? KPL_REJECT_RANGE
                                      : off % size != 0 || (whole && size != 8) ? KPL_REJECT_ALIGN
                                                                                : KPL_REJECT_NONE;
                    const std::string moved = from ? fmt::format("r2 += {}\n", from) : "";
                    auto one = [&, mode = mode, size = size](const char* what, int kind, int dst, int src,
                                                             uint32_t verdict) {
                        return add(fmt::format("{} {} bytes at {} from {}", what, size, off, from), pointer,
                                   moved + insn(kind | BPF_MEM | mode, dst, src, off - from, 0), verdict);
                    };
                    if (pointer.stores) {
                        TRY(one("a number to", BPF_ST, 2, 0, reject));
                        TRY(one("a register to", BPF_STX, 2, 7, reject));
                    }
                    if (!reject && stack && off < -16) reject = KPL_REJECT_STACK_UNINIT;
                    if (pointer.loads) TRY(one("a load of", BPF_LDX, 7, 2, reject));
                }
        return {};
    }

    std::vector<Row> rows_;
};

}  // namespace

Result<std::vector<Row>> each_rows() { return Each().rows(); }

}  // namespace kpl::rows
