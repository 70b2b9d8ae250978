// SPDX-License-Identifier: MIT
#include "random.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>
#include <iterator>
#include <optional>
#include <random>
#include <vector>

#include "holds.hpp"

namespace kpl::exec {

namespace {

constexpr size_t memory_size = 64;
constexpr uint8_t home = 6;     // points to the memory; nothing else writes it
constexpr uint8_t counter = 8;  // of loops, likewise
constexpr uint8_t free_registers[] = {0, 1, 2, 3, 4, 5, 7};
constexpr int farthest = 30'000;  // a moved pointer: the 16 bits of an offset lead back
constexpr int sizes[] = {BPF_B, BPF_H, BPF_W, BPF_DW};

// Knows of each register and of the stack what the verifier will know.
class Author {
  public:
    explicit Author(uint64_t seed) : random_(seed), now_(start_state({memory_size}, 0)) {}

    std::string line() {
        add(BPF_ALU64 | BPF_MOV | BPF_X, home, 1, 0, 0);
        for (const uint8_t reg : {0, 3, 4, 5, 7}) load_number(reg);
        add(BPF_ALU64 | BPF_MOV | BPF_K, counter, 0, 0, 0);
        for (int slot = 1; slot <= 4; slot++)
            add(BPF_STX | BPF_MEM | BPF_DW, 10, number(), static_cast<int16_t>(-8 * slot), 0);
        for (int i = below(4); i >= 0; i--) below(3) ? steps(1 + below(12)) : loop();
        sum_up();
        std::string text;
        for (const bpf_insn& insn : insns_) {
            uint8_t bytes[sizeof insn];
            std::memcpy(bytes, &insn, sizeof insn);
            for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
        }
        text += ':';
        for (size_t i = 0; i < memory_size; i++) text += fmt::format("{:02x}", below(256));
        return text;
    }

  private:
    using Bytes = std::bitset<KPL_MAX_STACK>;  // of the stack, from its lower end

    int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }

    // Edges more often than others.
    int32_t value() {
        static constexpr int32_t edges[] = {0, 1, -1, 2, 31, 32, 63, 64, 255, INT32_MAX, INT32_MIN};
        return below(2) ? edges[below(std::size(edges))] : static_cast<int32_t>(random_());
    }

    // ---- registers

    bool is_number(uint8_t reg) const { return now_.regs[reg].type == KPL_T_NUM; }
    bool is_pointer(uint8_t reg) const {
        return now_.regs[reg].type == KPL_T_DATA || now_.regs[reg].type == KPL_T_STACK;
    }

    template <class Is>
    std::optional<uint8_t> one_of(std::initializer_list<uint8_t> others, const Is& is) {
        std::vector<uint8_t> all(others);
        std::copy_if(std::begin(free_registers), std::end(free_registers), std::back_inserter(all), is);
        return all.empty() ? std::nullopt : std::optional(all[below(static_cast<int>(all.size()))]);
    }

    uint8_t number() {
        return *one_of({counter}, [this](uint8_t reg) { return is_number(reg); });
    }
    uint8_t pointer() {
        return *one_of({home, 10}, [this](uint8_t reg) { return is_pointer(reg); });
    }
    // What a number may be written to, or what is computed on.
    std::optional<uint8_t> result() {
        return one_of({}, [this](uint8_t reg) { return !kept_[reg] || is_number(reg); });
    }
    std::optional<uint8_t> operand() {
        return one_of({}, [this](uint8_t reg) { return is_number(reg); });
    }

    // ---- instructions

    void add(int code, uint8_t dst, uint8_t src, int16_t off, int32_t imm) {
        insns_.push_back(make(static_cast<uint8_t>(code), dst, src, off, imm));
        const auto access = access_of(insns_.back());
        if (access && BPF_CLASS(code) != BPF_LDX && now_.regs[dst].type == KPL_T_STACK)
            for (int i = 0; i < access->size; i++)
                written_.set(static_cast<size_t>(KPL_MAX_STACK + now_.regs[dst].number + off + i));
        now_ = after(now_, insns_.back());
    }

    void load_number(uint8_t reg) {
        add(BPF_LD | BPF_IMM | BPF_DW, reg, 0, 0, value());
        insns_.push_back(make(0, 0, 0, 0, value()));
    }

    void compute() {
        static constexpr int ops[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,   BPF_AND, BPF_LSH,
                                      BPF_RSH, BPF_MOD, BPF_XOR, BPF_MOV, BPF_ARSH, BPF_NEG, BPF_END};
        const int op = ops[below(std::size(ops))], width = below(2) ? BPF_ALU64 : BPF_ALU;
        const auto dst = op == BPF_MOV ? result() : operand();
        if (!dst) return;
        if (op == BPF_END) {
            const int code = below(3) ? BPF_ALU | BPF_END | (below(2) ? BPF_TO_BE : BPF_TO_LE) : BPF_ALU64 | BPF_END;
            add(code, *dst, 0, 0, 16 << below(3));
        } else if (op == BPF_NEG) {
            add(width | BPF_NEG, *dst, 0, 0, 0);
        } else if (below(2)) {
            add(width | op | BPF_X, *dst, number(), variety(op, width), 0);
        } else {
            add(width | op | BPF_K, *dst, 0, op == BPF_MOV ? 0 : variety(op, width), value());
        }
    }

    // At times division with a sign, or a move that extends one.
    int16_t variety(int op, int width) {
        if (below(3)) return 0;
        if (op == BPF_MOV) return static_cast<int16_t>(8 << below(width == BPF_ALU64 ? 3 : 2));
        return op == BPF_DIV || op == BPF_MOD;
    }

    // A pointer to somewhere else, or another one that is moved, at times far off.
    void point() {
        const auto dst = one_of({}, [this](uint8_t reg) { return !kept_[reg]; });
        if (!dst) return;
        if (!is_pointer(*dst) || !below(3)) add(BPF_ALU64 | BPF_MOV | BPF_X, *dst, pointer(), 0, 0);
        const int reach = !low_ || below(4) ? 64 : farthest;
        const int to = below(2 * reach + 1) - reach;
        if (below(4)) add(BPF_ALU64 | BPF_ADD | BPF_K, *dst, 0, 0, to - static_cast<int>(now_.regs[*dst].number));
    }

    bool is_written(int at, int size) const {
        for (int i = 0; i < size; i++)
            if (!written_[static_cast<size_t>(KPL_MAX_STACK + at + i)]) return false;
        return true;
    }

    // What was there comes to a register, at times.
    void atomic(uint8_t base, int16_t off, int size) {
        static constexpr int32_t ops[] = {BPF_ADD, BPF_OR, BPF_AND, BPF_XOR, BPF_XCHG, BPF_CMPXCHG};
        int32_t op = ops[below(std::size(ops))];
        if (op == BPF_CMPXCHG && !is_number(0)) op = BPF_XCHG;
        if (below(2)) op |= BPF_FETCH;
        const auto src = operand();
        if (!src) return;
        add(BPF_STX | BPF_ATOMIC | size, base, *src, off, op);
        if (op & BPF_FETCH) now_.regs[op == BPF_CMPXCHG ? 0 : *src] = {KPL_T_NUM};
    }

    // Of any size, by any pointer. Of the stack, the upper 64 and the lowest 16 bytes are used.
    void access() {
        const int width = below(4), size = 1 << width;
        const uint8_t base = pointer();
        int at = below(memory_size >> width) << width, kind = below(4);
        if (now_.regs[base].type == KPL_T_STACK) {
            at = !low_ || below(8) ? at - 64 : at % 16 - KPL_MAX_STACK;
            if ((kind == 0 || kind == 3) && !is_written(at, size)) kind = 1;
        }
        const auto off = static_cast<int16_t>(at - now_.regs[base].number);
        const auto to = result();
        if (kind == 3 && size >= 4 && !low_)
            atomic(base, off, sizes[width]);
        else if (kind == 0 && to)
            add(BPF_LDX | (width < 3 && !below(4) ? sign_extending : BPF_MEM) | sizes[width], *to, base, off, 0);
        else if (kind == 1)
            add(BPF_STX | BPF_MEM | sizes[width], base, number(), off, 0);
        else
            add(BPF_ST | BPF_MEM | sizes[width], base, 0, off, value());
    }

    // ---- calls

    void pass_number(uint8_t reg) {
        if (below(2))
            add(BPF_ALU64 | BPF_MOV | BPF_X, reg, number(), 0, 0);
        else
            load_number(reg);
    }

    // A string somewhere in the memory, and its limit.
    void pass_string(uint8_t reg, int32_t bytes) {
        const int at = 8 * below(7), most = static_cast<int>(memory_size) - 8 - at;
        add(BPF_ST | BPF_MEM | BPF_W, home, 0, static_cast<int16_t>(at), below(4) ? below(10) : value());
        if (below(2)) add(BPF_ST | BPF_MEM | BPF_DW, home, 0, static_cast<int16_t>(at + 8), bytes);
        add(BPF_ALU64 | BPF_MOV | BPF_X, reg, home, 0, 0);
        add(BPF_ALU64 | BPF_ADD | BPF_K, reg, 0, 0, at);
        add(BPF_ALU64 | BPF_MOV | BPF_K, static_cast<uint8_t>(reg + 1), 0, 0, below(most + 1));
    }

    // Of a helper that works on its arguments alone.
    void call() {
        if (std::any_of(kept_.begin(), kept_.begin() + 6, [](bool kept) { return kept; })) return;
        static constexpr int helpers[] = {KPL_H_sdiv, KPL_H_smod, KPL_H_str_eq, KPL_H_str_starts};
        const int helper = helpers[below(std::size(helpers))];
        if (helper == KPL_H_sdiv || helper == KPL_H_smod) {
            pass_number(1);
            pass_number(2);
        } else {
            const int32_t bytes = value();
            pass_string(1, bytes);
            pass_string(3, bytes);
        }
        add(BPF_JMP | BPF_CALL, 0, 0, 0, helper);
    }

    // ---- control

    // Over one to three steps, or to as many others.
    void branch() {
        static constexpr int ops[] = {BPF_JEQ,  BPF_JNE,  BPF_JGT,  BPF_JGE,  BPF_JLT, BPF_JLE,
                                      BPF_JSET, BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE};
        const int op = ops[below(std::size(ops))], width = below(2) ? BPF_JMP : BPF_JMP32;
        if (below(2))
            add(width | op | BPF_X, number(), number(), 0, 0);
        else
            add(width | op | BPF_K, number(), 0, 0, value());
        const size_t from = insns_.size();
        const State before = now_;
        const Bytes written_before = written_;
        steps(1 + below(3));
        if (below(3)) {
            insns_[from - 1].off = static_cast<int16_t>(insns_.size() - from);
            now_ = joined(before, now_);
            written_ &= written_before;
            return;
        }
        add(BPF_JMP | BPF_JA, 0, 0, 0, 0);
        const size_t other = insns_.size();
        insns_[from - 1].off = static_cast<int16_t>(other - from);
        const State met = std::exchange(now_, before);
        const Bytes written_met = std::exchange(written_, written_before);
        steps(1 + below(3));
        insns_[other - 1].off = static_cast<int16_t>(insns_.size() - other);
        now_ = joined(met, now_);
        written_ &= written_met;
    }

    void steps(int n) {
        for (int i = 0; i < n; i++) {
            const int what = below(32);
            if (what < 14)
                compute();
            else if (what < 23)
                access();
            else if (what < 27)
                point();
            else if (what < 29)
                call();
            else
                branch();
        }
    }

    // A register either holds what it held, a number or the same pointer, at each turn, or nothing is known of it at
    // the beginning. Of the stack, the slots are known that were written whole.
    void loop() {
        add(BPF_ALU64 | BPF_MOV | BPF_K, counter, 0, 0, 1 + below(20));
        const int most = below(3);  // 0: all are free, which a call needs
        for (const uint8_t reg : free_registers) {
            kept_[reg] = most && below(2);
            if (!kept_[reg]) now_.regs[reg] = {};
        }
        for (int slot = 0; slot < KPL_MAX_STACK / 8; slot++)
            for (int i = 0; i < 8; i++)
                written_[static_cast<size_t>(KPL_MAX_STACK - 8 * (slot + 1) + i)] = now_.stack >> slot & 1;
        const size_t begin = insns_.size();
        steps(1 + below(8));
        add(BPF_ALU64 | BPF_SUB | BPF_K, counter, 0, 0, 1);
        add(BPF_JMP | BPF_JNE | BPF_K, counter, 0,
            static_cast<int16_t>(static_cast<int>(begin) - static_cast<int>(insns_.size()) - 1), 0);
        kept_ = {};
    }

    // ---- the end

    void mix(uint8_t reg) {
        add(BPF_ALU64 | BPF_MUL | BPF_K, 0, 0, 0, 31);
        add(BPF_ALU64 | BPF_XOR | BPF_X, 0, reg, 0, 0);
    }

    void mix_stack(int at, int width) {
        if (!is_written(at, 1 << width)) return;
        add(BPF_LDX | BPF_MEM | sizes[width], 1, 10, static_cast<int16_t>(at), 0);
        mix(1);
    }

    // r0 tells of all numbers, and of all that is written of the stack.
    void sum_up() {
        if (!is_number(0)) load_number(0);
        for (const uint8_t reg : free_registers)
            if (reg && is_number(reg)) mix(reg);
        for (int at = -KPL_MAX_STACK; at < 0; at += 8) {
            if (is_written(at, 8))
                mix_stack(at, 3);
            else
                for (int i = 0; i < 8; i++) mix_stack(at + i, 0);
        }
        add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    }

    std::mt19937_64 random_;
    // What lies low on the stack is used, and pointers go far, or there are atomic operations: to make a handler of
    // these may take the lowest 16 bytes.
    const bool low_ = below(2);
    std::vector<bpf_insn> insns_;
    State now_;
    Bytes written_;
    std::array<bool, 11> kept_{};  // within a loop
};

}  // namespace

std::string random_line(uint64_t seed) { return Author(seed).line(); }

}  // namespace kpl::exec
