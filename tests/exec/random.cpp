// SPDX-License-Identifier: MIT
#include "random.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>

#include <cstring>
#include <random>
#include <vector>

namespace kpl::exec {

namespace {

constexpr size_t memory_size = 64;
constexpr uint8_t counter = 8;  // of loops; nothing else writes it
constexpr uint8_t first = 3, last = 7;

class Author {
  public:
    explicit Author(uint64_t seed) : random_(seed) {}

    std::string line() {
        add(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, value());
        for (uint8_t reg = first; reg <= last; reg++) load_number(reg);
        for (int slot = 1; slot <= 4; slot++)
            add(BPF_STX | BPF_MEM | BPF_DW, 10, any(), static_cast<int16_t>(-8 * slot), 0);
        add(BPF_ALU64 | BPF_MOV | BPF_K, counter, 0, 0, 0);
        for (int i = below(4); i >= 0; i--) below(3) ? steps(1 + below(12)) : loop();
        for (uint8_t reg = first; reg <= last; reg++) {
            add(BPF_ALU64 | BPF_MUL | BPF_K, 0, 0, 0, 31);
            add(BPF_ALU64 | BPF_XOR | BPF_X, 0, reg, 0, 0);
        }
        add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
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
    int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
    uint8_t any() { return static_cast<uint8_t>(first + below(last - first + 1)); }

    // Edges more often than others.
    int32_t value() {
        static constexpr int32_t edges[] = {0, 1, -1, 2, 31, 32, 63, 64, 255, INT32_MAX, INT32_MIN};
        return below(2) ? edges[below(std::size(edges))] : static_cast<int32_t>(random_());
    }

    void add(int code, uint8_t dst, uint8_t src, int16_t off, int32_t imm) {
        bpf_insn insn{};
        insn.code = static_cast<uint8_t>(code), insn.dst_reg = dst & 15, insn.src_reg = src & 15;
        insn.off = off, insn.imm = imm;
        insns_.push_back(insn);
    }

    void load_number(uint8_t reg) {
        add(BPF_LD | BPF_IMM | BPF_DW, reg, 0, 0, value());
        add(0, 0, 0, 0, value());
    }

    void compute() {
        static constexpr int ops[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,   BPF_AND, BPF_LSH,
                                      BPF_RSH, BPF_MOD, BPF_XOR, BPF_MOV, BPF_ARSH, BPF_NEG, BPF_END};
        const int op = ops[below(std::size(ops))], width = below(2) ? BPF_ALU64 : BPF_ALU;
        if (op == BPF_END) {
            add(BPF_ALU | BPF_END | (below(2) ? BPF_TO_BE : BPF_TO_LE), any(), 0, 0, 16 << below(3));
        } else if (op == BPF_NEG) {
            add(width | BPF_NEG, any(), 0, 0, 0);
        } else if (below(2)) {
            add(width | op | BPF_X, any(), any(), 0, 0);
        } else {
            add(width | op | BPF_K, any(), 0, 0, value());
        }
    }

    // Of the memory, or of the stack as a whole word.
    void access() {
        static constexpr int sizes[] = {BPF_B, BPF_H, BPF_W, BPF_DW};
        const int width = below(4);
        const bool stack = width == 3 && below(2);
        const auto off = static_cast<int16_t>(stack ? -8 * (1 + below(4)) : below(memory_size >> width) << width);
        const uint8_t base = stack ? 10 : 1;
        switch (below(3)) {
            case 0: add(BPF_LDX | BPF_MEM | sizes[width], any(), base, off, 0); break;
            case 1: add(BPF_STX | BPF_MEM | sizes[width], base, any(), off, 0); break;
            default: add(BPF_ST | BPF_MEM | sizes[width], base, 0, off, value());
        }
    }

    void branch(int16_t off) {
        static constexpr int ops[] = {BPF_JEQ,  BPF_JNE,  BPF_JGT,  BPF_JGE,  BPF_JLT, BPF_JLE,
                                      BPF_JSET, BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE};
        const int op = ops[below(std::size(ops))], width = below(2) ? BPF_JMP : BPF_JMP32;
        if (below(2))
            add(width | op | BPF_X, any(), any(), off, 0);
        else
            add(width | op | BPF_K, any(), 0, off, value());
    }

    void steps(int n) {
        for (int i = 0; i < n; i++) {
            const int what = below(8);
            if (what < 5) {
                compute();
            } else if (what < 7) {
                access();
            } else {  // over one or two
                const int over = 1 + below(2);
                branch(static_cast<int16_t>(over));
                for (int j = 0; j < over; j++) compute();
            }
        }
    }

    void loop() {
        add(BPF_ALU64 | BPF_MOV | BPF_K, counter, 0, 0, 1 + below(20));
        const size_t begin = insns_.size();
        steps(1 + below(8));
        add(BPF_ALU64 | BPF_SUB | BPF_K, counter, 0, 0, 1);
        add(BPF_JMP | BPF_JNE | BPF_K, counter, 0,
            static_cast<int16_t>(static_cast<int>(begin) - static_cast<int>(insns_.size()) - 1), 0);
    }

    std::mt19937_64 random_;
    std::vector<bpf_insn> insns_;
};

}  // namespace

std::string random_line(uint64_t seed) { return Author(seed).line(); }

}  // namespace kpl::exec
