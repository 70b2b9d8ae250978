// SPDX-License-Identifier: MIT
#include <optional>
#include <utility>
#include <vector>

#include "passes.hpp"

namespace kpl::exec {

namespace {

// Of an access: a part that is aligned.
struct Piece {
    int at = 0, size = 0;  // bytes, from its beginning
    bpf_insn moved(bpf_insn insn) const {
        static constexpr uint8_t sizes[] = {0, BPF_B, BPF_H, 0, BPF_W};
        insn.code = static_cast<uint8_t>((insn.code & ~BPF_SIZE(0xff)) | sizes[size]);
        insn.off = static_cast<int16_t>(insn.off + at);
        return insn;
    }
};

std::vector<Piece> pieces_of(int64_t at, int size) {
    std::vector<Piece> pieces;
    for (int done = 0; done < size; done += pieces.back().size) {
        int part = 4;
        while (part > size - done || (at + done) % part) part /= 2;
        pieces.push_back({done, part});
    }
    return pieces;
}

// Steps are added from the last one to the first.
class Pieces {
  public:
    Pieces(Graph& graph, size_t at, std::vector<Piece> pieces)
        : graph_(graph),
          insn_(graph[at].insn),
          next_(graph[at].next),
          origin_(graph[at].origin),
          pieces_(std::move(pieces)) {}

    // `sum`: a register for the value, not the one that the memory is reached by.
    size_t loaded(uint8_t sum) {
        if (sum != insn_.dst_reg) add(make(BPF_ALU64 | BPF_MOV | BPF_X, insn_.dst_reg, sum, 0, 0));
        for (size_t i = 0; i + 1 < pieces_.size(); i++) {
            add(make(BPF_ALU64 | BPF_OR | BPF_X, sum, made_register, 0, 0));
            load(i, made_register);
            add(make(BPF_ALU64 | BPF_LSH | BPF_K, sum, 0, 0, 8 * pieces_[i].size));
        }
        load(pieces_.size() - 1, sum);
        return next_;
    }

    size_t stored() {
        for (size_t i = pieces_.size(); i-- > 0;) {
            bpf_insn piece = pieces_[i].moved(insn_);
            const int shift = 8 * pieces_[i].at;
            if (BPF_CLASS(insn_.code) == BPF_ST) {
                const int64_t part = int64_t{insn_.imm} >> shift;
                piece.imm = static_cast<int32_t>(pieces_[i].size == 4 ? part : part & ((1 << 8 * pieces_[i].size) - 1));
                add(piece);
                continue;
            }
            if (i) piece.src_reg = made_register;
            add(piece);
            if (i) add(make(BPF_ALU64 | BPF_RSH | BPF_K, made_register, 0, 0, shift));
            if (i) add(make(BPF_ALU64 | BPF_MOV | BPF_X, made_register, insn_.src_reg, 0, 0));
        }
        return next_;
    }

  private:
    void load(size_t piece, uint8_t to) {
        bpf_insn insn = pieces_[piece].moved(insn_);
        insn.dst_reg = to & 15;
        add(insn);
    }

    void add(const bpf_insn& insn) {
        graph_.push_back({insn, {}, next_, 0, origin_, false});
        next_ = graph_.size() - 1;
    }

    Graph& graph_;
    const bpf_insn insn_;
    size_t next_;
    const uint32_t origin_;
    const std::vector<Piece> pieces_;
};

// One that has nothing in an unused field: those are for the verifier to refuse.
bool is_plain_access(const bpf_insn& insn) {
    if (BPF_MODE(insn.code) != BPF_MEM) return false;
    return BPF_CLASS(insn.code) == BPF_ST ? !insn.src_reg : !insn.imm;
}

std::optional<uint8_t> unnamed(const Graph& graph) {
    for (uint8_t reg = first_kept; reg <= last_kept; reg++)
        if (!is_named(graph, reg)) return reg;
    return std::nullopt;
}

}  // namespace

void split_unaligned(Graph& graph, const State& start) {
    const auto states = states_of(graph, start);
    const auto spare = unnamed(graph);
    for (size_t i = 0; i < states.size(); i++) {
        const bpf_insn insn = graph[i].insn;
        const auto access = access_of(insn);
        if (!states[i] || !access || graph[i].atomic || !is_plain_access(insn)) continue;
        const Value& base = states[i]->regs[access->base];
        const int64_t at = base.number + insn.off;
        const bool fits = insn.off <= INT16_MAX - access->size;
        if ((base.type != KPL_T_DATA && base.type != KPL_T_STACK) || at % access->size == 0 || !fits) continue;
        const bool load = BPF_CLASS(insn.code) == BPF_LDX;
        if (load && insn.dst_reg == access->base && !spare) continue;
        Pieces pieces(graph, i, pieces_of(at, access->size));
        const size_t begin =
            load ? pieces.loaded(insn.dst_reg == access->base ? *spare : insn.dst_reg) : pieces.stored();
        graph[i].insn = make(BPF_JMP | BPF_JA, 0, 0, 0, 0);
        graph[i].next = begin;
    }
}

}  // namespace kpl::exec
