// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstring>
#include <set>

#include "core/core.h"
#include "simulator/asm.hpp"
#include "simulator/asm_tables.hpp"

namespace kpl {
namespace {

class Disassembler {
  public:
    Disassembler(std::span<const bpf_insn> insns, std::span<const kpl_label> labels) : insns_(insns) {
        for (const kpl_label& label : labels) declared_.insert(label.pc);
        labels_ = declared_;
        for (uint32_t pc = 0; pc < insns_.size(); pc += slots(pc)) starts_.insert(pc);
        for (uint32_t pc : starts_)
            if (jumps(pc)) starts_label(target(pc));
    }

    uint32_t slots(uint32_t pc) const { return is_pair(pc) ? 2 : 1; }
    bool has_label(uint32_t pc) const { return labels_.contains(pc); }

    std::string text(uint32_t pc) const {
        std::string text = readable(pc);
        if (text.empty()) return raw(insns_[pc]);
        return text;
    }

  private:
    kpl_form form(uint32_t pc) const { return static_cast<kpl_form>(kpl_insn_forms[insns_[pc].code]); }
    int64_t target(uint32_t pc) const { return int64_t{pc} + 1 + insns_[pc].off; }
    bool jumps(uint32_t pc) const { return form(pc) == KPL_F_JA || form(pc) == KPL_F_JCC_K || form(pc) == KPL_F_JCC_X; }
    void starts_label(int64_t pc) {
        if (pc >= 0 && pc < static_cast<int64_t>(insns_.size())) labels_.insert(static_cast<uint32_t>(pc));
    }

    // A 64-bit constant or map as it should be; any other is printed as two raw slots.
    bool is_pair(uint32_t pc) const {
        if (form(pc) != KPL_F_LD64 || pc + 1 >= insns_.size() || declared_.contains(pc + 1)) return false;
        const bpf_insn &first = insns_[pc], &second = insns_[pc + 1];
        return !second.code && !second.dst_reg && !second.src_reg && !second.off && !first.off &&
               (first.src_reg == 0 || (first.src_reg == 1 && second.imm == 0));
    }

    // Where a jump goes: by name where instructions start.
    std::string where(uint32_t pc) const {
        int64_t to = target(pc);
        if (to >= 0 && starts_.contains(static_cast<uint32_t>(to))) return fmt::format("L{}", to);
        return fmt::format("{:+}", insns_[pc].off);
    }

    static std::string raw(const bpf_insn& insn) {
        return fmt::format(".insn {:#x} {} {} {} {}", insn.code, uint8_t{insn.dst_reg}, uint8_t{insn.src_reg}, insn.off,
                           insn.imm);
    }

    static std::string address(unsigned base, int off) {
        return fmt::format("(r{} {} {})", base, off < 0 ? '-' : '+', off < 0 ? -off : off);
    }

    std::string readable(uint32_t pc) const;
    std::string constant(uint32_t pc) const;

    std::span<const bpf_insn> insns_;
    std::set<uint32_t> starts_, declared_, labels_;
};

std::string Disassembler::constant(uint32_t pc) const {
    const bpf_insn& insn = insns_[pc];
    if (!is_pair(pc)) return {};
    if (insn.src_reg) return fmt::format("r{} = map {}", uint8_t{insn.dst_reg}, insn.imm);
    uint64_t value = static_cast<uint32_t>(insn.imm) | uint64_t{static_cast<uint32_t>(insns_[pc + 1].imm)} << 32;
    return fmt::format("r{} = {:#x} ll", uint8_t{insn.dst_reg}, value);
}

// Empty if a field that the instruction does not use is set: then only raw text says it all.
std::string Disassembler::readable(uint32_t pc) const {
    const bpf_insn& insn = insns_[pc];
    const unsigned dst = insn.dst_reg, src = insn.src_reg, cls = BPF_CLASS(insn.code);
    const int off = insn.off, imm = insn.imm;
    const char half = cls == BPF_ALU || cls == BPF_JMP32 ? 'w' : 'r';
    auto op = [&] { return assembly::find(assembly::alu_ops, BPF_OP(insn.code))->text; };
    auto condition = [&] { return assembly::find(assembly::conditions, BPF_OP(insn.code))->text; };
    auto size = [&] { return assembly::find(assembly::sizes, BPF_SIZE(insn.code))->text; };

    switch (form(pc)) {
        case KPL_F_ALU_K: return src || off ? "" : fmt::format("{}{} {}= {}", half, dst, op(), imm);
        case KPL_F_ALU_X: return off || imm ? "" : fmt::format("{}{} {}= {}{}", half, dst, op(), half, src);
        case KPL_F_NEG: return src || off || imm ? "" : fmt::format("{0}{1} = -{0}{1}", half, dst);
        case KPL_F_SWAP: {
            bool bits = imm == 16 || imm == 32 || imm == 64;
            const char* order = BPF_SRC(insn.code) == BPF_TO_BE ? "be" : "le";
            return src || off || !bits ? "" : fmt::format("r{0} = {1}{2} r{0}", dst, order, imm);
        }
        case KPL_F_LDX: return imm ? "" : fmt::format("r{} = *({} *){}", dst, size(), address(src, off));
        case KPL_F_ST: return src ? "" : fmt::format("*({} *){} = {}", size(), address(dst, off), imm);
        case KPL_F_STX: return imm ? "" : fmt::format("*({} *){} = r{}", size(), address(dst, off), src);
        case KPL_F_LD64: return constant(pc);
        case KPL_F_JA: return dst || src || imm ? "" : fmt::format("goto {}", where(pc));
        case KPL_F_JCC_K:
            return src ? "" : fmt::format("if {}{} {} {} goto {}", half, dst, condition(), imm, where(pc));
        case KPL_F_JCC_X:
            return imm ? "" : fmt::format("if {0}{1} {2} {0}{3} goto {4}", half, dst, condition(), src, where(pc));
        case KPL_F_CALL: {
            if (dst || src || off) return "";
            bool known = imm >= 0 && imm < KPL_H_END_ && kpl_helper_descs[imm].name;
            return known ? fmt::format("call {}", kpl_helper_descs[imm].name) : fmt::format("call {}", imm);
        }
        case KPL_F_EXIT: return dst || src || off || imm ? "" : "exit";
        case KPL_F_BAD:
        case KPL_F_END_: break;
    }
    return {};
}

// The declared state, as the assembler reads it.
std::string state(const kpl_label& label) {
    std::string text = "{";
    auto add = [&](std::string word) { text += (text.size() > 1 ? " " : "") + std::move(word); };
    for (unsigned i = 0; i < std::size(label.type); i++) {
        unsigned type = label.type[i];
        if (type == KPL_T_NONE && label.off[i] == 0) continue;
        std::string_view name = type < KPL_T_END_ ? assembly::types[type] : "?";
        if (type == KPL_T_MAP)
            add(fmt::format("r{}=map:{}", i, label.off[i]));
        else
            add(fmt::format("r{}={}{}", i, name, label.off[i] ? fmt::format("{:+}", label.off[i]) : ""));
    }
    if (label.rec_pending) add(fmt::format("rec={}", label.rec_size));
    if (label.stack) add(fmt::format("stack={:#x}", label.stack));
    return text + "}";
}

}  // namespace

std::string disassemble(std::span<const bpf_insn> insns, std::span<const kpl_label> labels, const Annotate& annotate) {
    Disassembler code(insns, labels);
    std::string out;
    size_t next_label = 0;
    for (uint32_t pc = 0; pc < insns.size(); pc += code.slots(pc)) {
        if (code.has_label(pc)) {
            out += fmt::format("L{}:", pc);
            while (next_label < labels.size() && labels[next_label].pc < pc) next_label++;
            if (next_label < labels.size() && labels[next_label].pc == pc) out += " " + state(labels[next_label++]);
            out += '\n';
        }
        std::string line = fmt::format("{:5}: {}", pc, code.text(pc));
        std::string note = annotate ? annotate(pc) : std::string{};
        out += note.empty() ? line + '\n' : fmt::format("{:<48} ; {}\n", line, note);
    }
    return out;
}

}  // namespace kpl
