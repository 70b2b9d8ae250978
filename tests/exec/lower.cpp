// SPDX-License-Identifier: MIT
#include <initializer_list>
#include <optional>

#include "passes.hpp"

namespace kpl::exec {

namespace {

constexpr uint8_t swap_always = BPF_ALU64 | BPF_END;  // whatever the machine's order is

bpf_insn move_to(uint8_t dst, uint8_t src) { return make(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0); }

// Steps are added from the last one to the first.
class Lowering {
  public:
    Lowering(Graph& graph, size_t at)
        : graph_(graph), insn_(graph[at].insn), next_(graph[at].next), origin_(graph[at].origin) {}

    // Where the steps for the instruction begin. None: it is one of the profile, or has something in an unused field.
    std::optional<size_t> begin() {
        const int kind = BPF_CLASS(insn_.code);
        if (kind == BPF_LDX) return load();
        if (kind == BPF_STX) return atomic();
        if (kind != BPF_ALU && kind != BPF_ALU64) return std::nullopt;
        switch (BPF_OP(insn_.code)) {
            case BPF_MOV: return move();
            case BPF_SUB: return subtraction();
            case BPF_END: return swap();
            case BPF_DIV:
            case BPF_MOD: return division();
            default: return std::nullopt;
        }
    }

  private:
    uint8_t dst() const { return insn_.dst_reg; }
    uint8_t src() const { return insn_.src_reg; }
    bool is_64() const { return BPF_CLASS(insn_.code) == BPF_ALU64; }

    size_t add(const bpf_insn& insn, size_t next, size_t target = 0) {
        graph_.push_back({insn, {}, next, target, origin_, false});
        return graph_.size() - 1;
    }

    size_t in_a_row(std::initializer_list<bpf_insn> insns, size_t next) {
        for (auto insn = std::rbegin(insns); insn != std::rend(insns); ++insn) next = add(*insn, next);
        return next;
    }

    // Of the lowest bits of dst, in a register of the class.
    size_t sign_extended(const bpf_insn& first, int kind, int bits) {
        const int shift = (kind == BPF_ALU64 ? 64 : 32) - bits;
        return in_a_row({first, make(static_cast<uint8_t>(kind | BPF_LSH | BPF_K), dst(), 0, 0, shift),
                         make(static_cast<uint8_t>(kind | BPF_ARSH | BPF_K), dst(), 0, 0, shift)},
                        next_);
    }

    std::optional<size_t> load() {
        if (BPF_MODE(insn_.code) != sign_extending || BPF_SIZE(insn_.code) == BPF_DW || insn_.imm) return std::nullopt;
        bpf_insn plain = insn_;
        plain.code = BPF_LDX | BPF_MEM | BPF_SIZE(insn_.code);
        return sign_extended(plain, BPF_ALU64, access_of(insn_)->size * 8);
    }

    std::optional<size_t> move() {
        const int bits = insn_.off;
        if (BPF_SRC(insn_.code) != BPF_X || insn_.imm) return std::nullopt;
        if (bits != 8 && bits != 16 && !(bits == 32 && is_64())) return std::nullopt;
        bpf_insn plain = insn_;
        plain.off = 0;
        return sign_extended(plain, BPF_CLASS(insn_.code), bits);
    }

    std::optional<size_t> subtraction() {
        if (insn_.code != (BPF_ALU64 | BPF_SUB | BPF_K) || src() || insn_.off || insn_.imm == INT32_MIN)
            return std::nullopt;
        return add(make(BPF_ALU64 | BPF_ADD | BPF_K, dst(), 0, 0, -insn_.imm), next_);
    }

    // Handlers run on little-endian machines.
    std::optional<size_t> swap() {
        if (insn_.code != swap_always) return std::nullopt;
        bpf_insn to_be = insn_;  // its other fields are for the verifier to look at
        to_be.code = BPF_ALU | BPF_END | BPF_TO_BE;
        return add(to_be, next_);
    }

    bpf_insn negated(uint8_t reg, int kind) { return make(static_cast<uint8_t>(kind | BPF_NEG), reg, 0, 0, 0); }

    bpf_insn if_negative(uint8_t reg) const {
        return make((is_64() ? BPF_JMP : BPF_JMP32) | BPF_JSLT | BPF_K, reg, 0, 0, 0);
    }

    // By a divisor whose sign has been taken off: what is left is the sign of dst, and of the quotient.
    size_t divided(const bpf_insn& by, bool was_negative, size_t next) {
        const int kind = BPF_CLASS(insn_.code);
        const bool turn = was_negative && BPF_OP(insn_.code) == BPF_DIV;
        const bpf_insn minus = negated(dst(), kind);
        const size_t positive = turn ? in_a_row({by, minus}, next) : add(by, next);
        const size_t negative = turn ? in_a_row({minus, by}, next) : in_a_row({minus, by, minus}, next);
        return add(if_negative(dst()), positive, negative);
    }

    std::optional<size_t> division() {
        if (insn_.off != 1) return std::nullopt;
        bpf_insn by = insn_;
        by.off = 0;
        if (BPF_SRC(insn_.code) == BPF_K) return src() ? std::nullopt : std::optional(divided_by_constant(by));
        if (insn_.imm) return std::nullopt;
        if (dst() == src()) return add(by, next_);  // 1 or 0, signed or not
        // Its upper half is kept: 64 bits are negated, also where 32 are used.
        const bpf_insn minus = negated(src(), BPF_ALU64);
        const size_t negative = add(minus, divided(by, true, add(minus, next_)));
        return add(if_negative(src()), divided(by, false, next_), negative);
    }

    size_t divided_by_constant(bpf_insn by) {
        const bool negative = insn_.imm < 0;
        if (negative && insn_.imm == INT32_MIN && is_64())  // 2^31 is no constant of 64 bits
            by = BPF_OP(insn_.code) == BPF_DIV ? make(BPF_ALU64 | BPF_RSH | BPF_K, dst(), 0, 0, 31)
                                               : make(BPF_ALU64 | BPF_AND | BPF_K, dst(), 0, 0, INT32_MAX);
        else if (negative && insn_.imm != INT32_MIN)
            by.imm = -insn_.imm;
        return divided(by, negative, next_);
    }

    // Nothing else runs meanwhile that sees the memory.
    std::optional<size_t> atomic() {
        const uint8_t size = BPF_SIZE(insn_.code), old = made_register;
        if (BPF_MODE(insn_.code) != BPF_ATOMIC || (size != BPF_W && size != BPF_DW)) return std::nullopt;
        const bpf_insn load = make(BPF_LDX | BPF_MEM | size, old, dst(), insn_.off, 0);
        const auto store = [&](uint8_t reg) { return make(BPF_STX | BPF_MEM | size, dst(), reg, insn_.off, 0); };
        const auto compute = [&](uint8_t to, uint8_t from) {
            return make(static_cast<uint8_t>(BPF_ALU64 | BPF_X | (insn_.imm & ~BPF_FETCH)), to, from, 0, 0);
        };
        size_t after = 0;
        switch (insn_.imm) {
            case BPF_ADD:
            case BPF_OR:
            case BPF_AND:
            case BPF_XOR: after = in_a_row({compute(old, src()), store(old)}, next_); break;
            case BPF_ADD | BPF_FETCH:
            case BPF_OR | BPF_FETCH:
            case BPF_AND | BPF_FETCH:
            case BPF_XOR | BPF_FETCH:
                after = in_a_row({compute(src(), old), store(src()), move_to(src(), old)}, next_);
                break;
            case BPF_XCHG: after = in_a_row({store(src()), move_to(src(), old)}, next_); break;
            case BPF_CMPXCHG: {
                const size_t end = add(move_to(0, old), next_);
                const auto differs = static_cast<uint8_t>((size == BPF_DW ? BPF_JMP : BPF_JMP32) | BPF_JNE | BPF_X);
                after = add(make(differs, old, 0, 0, 0), add(store(src()), end), end);
                break;
            }
            default: return std::nullopt;
        }
        const size_t first = add(load, after);
        graph_[first].atomic = true;
        return first;
    }

    Graph& graph_;
    const bpf_insn insn_;
    const size_t next_;
    const uint32_t origin_;
};

}  // namespace

void lower(Graph& graph) {
    const size_t given = graph.size();
    for (size_t at = 0; at < given; at++) {
        if (const auto begin = Lowering(graph, at).begin()) {
            graph[at].insn = make(BPF_JMP | BPF_JA, 0, 0, 0, 0);
            graph[at].next = *begin;
        }
    }
}

}  // namespace kpl::exec
