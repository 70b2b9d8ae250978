// SPDX-License-Identifier: MIT
#include "graph.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kpl::exec {

namespace {

bool is_jump_class(const bpf_insn& insn) {
    return BPF_CLASS(insn.code) == BPF_JMP || BPF_CLASS(insn.code) == BPF_JMP32;
}

// A jump whose offset has 32 bits.
bool is_long_jump(const bpf_insn& insn) {
    return insn.code == (BPF_JMP32 | BPF_JA) && !insn.dst_reg && !insn.src_reg && !insn.off;
}

bool is_alu_class(const bpf_insn& insn) { return BPF_CLASS(insn.code) == BPF_ALU || BPF_CLASS(insn.code) == BPF_ALU64; }

}  // namespace

bpf_insn make(uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm) {
    bpf_insn insn{};
    insn.code = code, insn.dst_reg = dst & 15, insn.src_reg = src & 15, insn.off = off, insn.imm = imm;
    return insn;
}

bool is_wide(const bpf_insn& insn) { return insn.code == (BPF_LD | BPF_IMM | BPF_DW); }
bool is_exit(const bpf_insn& insn) { return insn.code == (BPF_JMP | BPF_EXIT); }
bool is_call(const bpf_insn& insn) { return insn.code == (BPF_JMP | BPF_CALL); }

bool is_local_call(const bpf_insn& insn) {
    return is_call(insn) && insn.src_reg == BPF_PSEUDO_CALL && !insn.dst_reg && !insn.off;
}

// One with anything in its unused fields is left for the verifier to refuse.
bool is_plain_jump(const bpf_insn& insn) {
    return insn.code == (BPF_JMP | BPF_JA) && !insn.dst_reg && !insn.src_reg && !insn.imm;
}

bool is_condition(const bpf_insn& insn) {
    return is_jump_class(insn) && !is_exit(insn) && BPF_OP(insn.code) != BPF_CALL && !is_plain_jump(insn);
}

bool reads_dst(const bpf_insn& insn) {
    const int kind = BPF_CLASS(insn.code);
    return kind == BPF_ST || kind == BPF_STX || is_condition(insn) ||
           (is_alu_class(insn) && BPF_OP(insn.code) != BPF_MOV);
}

bool writes_dst(const bpf_insn& insn) {
    return is_alu_class(insn) || BPF_CLASS(insn.code) == BPF_LD || BPF_CLASS(insn.code) == BPF_LDX;
}

bool names(const bpf_insn& insn, uint8_t reg) { return insn.dst_reg == reg || insn.src_reg == reg; }

bool is_named(const Graph& graph, uint8_t reg) {
    return std::any_of(graph.begin(), graph.end(), [reg](const Step& step) { return names(step.insn, reg); });
}

std::optional<Access> access_of(const bpf_insn& insn) {
    const int kind = BPF_CLASS(insn.code);
    if (kind != BPF_LDX && kind != BPF_ST && kind != BPF_STX) return std::nullopt;
    Access access;
    access.base = kind == BPF_LDX ? insn.src_reg : insn.dst_reg;
    switch (BPF_SIZE(insn.code)) {
        case BPF_B: access.size = 1; break;
        case BPF_H: access.size = 2; break;
        case BPF_W: access.size = 4; break;
        default: access.size = 8;
    }
    return access;
}

Result<Graph> graph_from(std::span<const bpf_insn> given) {
    const auto size = static_cast<int64_t>(given.size());
    const auto step = [size](int64_t i) { return i < size ? static_cast<size_t>(i) : off_the_end; };
    Graph graph(given.size());
    std::vector<bool> second(given.size() + 1);  // halves of an instruction of two slots
    for (int64_t i = 0; i < size; i++) second[i + 1] = is_wide(given[i]) && !second[i];
    for (int64_t i = 0; i < size; i++) {
        Step& now = graph[i];
        now.insn = given[i];
        now.origin = static_cast<uint32_t>(i);
        if (second[i]) continue;  // nothing leads to it
        now.next = step(i + 1);
        const auto target = [&](int32_t off) -> Result<size_t> {
            const int64_t to = i + 1 + off;
            const bool there = to >= 0 && to <= size;
            if (there && (to == size || !second[to])) return step(to);
            return Error{Errc::usage,
                         fmt::format("the {} of instruction {} {}", is_call(now.insn) ? "call" : "jump", i,
                                     there ? fmt::format("leads into instruction {}", to - 1) : "leaves the program")};
        };
        if (is_wide(now.insn) && i + 1 < size) {
            now.second = given[i + 1];
            now.next = step(i + 2);
        } else if (is_local_call(now.insn)) {
            now.target = TRY(target(now.insn.imm));
        } else if (is_long_jump(now.insn)) {
            now.next = TRY(target(now.insn.imm));
            now.insn = make(BPF_JMP | BPF_JA, 0, 0, 0, 0);
        } else if (is_plain_jump(now.insn)) {
            now.next = TRY(target(now.insn.off));
        } else if (is_condition(now.insn)) {
            now.target = TRY(target(now.insn.off));
        }
    }
    return graph;
}

}  // namespace kpl::exec
