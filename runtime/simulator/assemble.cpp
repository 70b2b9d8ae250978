// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <optional>

#include "core/core.h"
#include "simulator/asm.hpp"
#include "simulator/asm_tables.hpp"
#include "simulator/lexer.hpp"

namespace kpl {
namespace {

using assembly::Lexer;

constexpr int64_t imm_min = INT32_MIN, imm_max = INT32_MAX;

struct Register {
    uint8_t number;
    bool wide;  // rN, not wN
};

std::optional<Register> parse_register(std::string_view word) {
    if (word.size() < 2 || word.size() > 3 || (word[0] != 'r' && word[0] != 'w')) return {};
    unsigned number = 0;
    for (char c : word.substr(1)) {
        if (c < '0' || c > '9') return {};
        number = number * 10 + static_cast<unsigned>(c - '0');
    }
    if (number > 15) return {};
    return Register{static_cast<uint8_t>(number), word[0] == 'r'};
}

class Assembler {
  public:
    Result<Assembly> run(std::string_view text);

  private:
    struct Fixup {
        size_t pc;
        std::string label;
        Error undefined;
    };

    Result<void> line(Lexer& in);
    Result<void> label(Lexer& in, std::string name);
    Result<void> label_entry(Lexer& in, kpl_label& state);
    Result<void> instruction(Lexer& in, std::string_view word);
    Result<void> to_register(Lexer& in, Register dst);
    Result<bool> unusual_move(Lexer& in, Register dst);
    Result<void> store(Lexer& in);
    Result<void> branch(Lexer& in);
    Result<void> call(Lexer& in);
    Result<void> raw(Lexer& in);
    Result<uint8_t> access(Lexer& in, uint8_t& base, int16_t& off);
    Result<Register> reg(Lexer& in);
    Result<int16_t> target(Lexer& in);

    bpf_insn& emit(unsigned code, uint8_t dst = 0, uint8_t src = 0, int16_t off = 0, int32_t imm = 0) {
        bpf_insn insn{};
        insn.code = static_cast<uint8_t>(code);
        insn.dst_reg = dst & 15;
        insn.src_reg = src & 15;
        insn.off = off;
        insn.imm = imm;
        out_.insns.push_back(insn);
        return out_.insns.back();
    }

    Assembly out_;
    std::map<std::string, size_t, std::less<>> names_;
    std::vector<Fixup> fixups_;
};

Result<Assembly> Assembler::run(std::string_view text) {
    int number = 1;
    for (size_t at = 0; at <= text.size(); number++) {
        size_t end = std::min(text.find('\n', at), text.size());
        Lexer in(text.substr(at, end - at), number);
        TRY(line(in));
        if (!in.at_end()) return in.error("expected the end of the line");
        at = end + 1;
    }
    for (Fixup& fixup : fixups_) {
        auto found = names_.find(fixup.label);
        if (found == names_.end()) return std::move(fixup.undefined);
        auto off = static_cast<int64_t>(found->second) - static_cast<int64_t>(fixup.pc) - 1;
        if (off != static_cast<int16_t>(off)) return std::move(fixup.undefined);
        out_.insns[fixup.pc].off = static_cast<int16_t>(off);
    }
    return std::move(out_);
}

Result<void> Assembler::line(Lexer& in) {
    while (!in.at_end()) {
        Lexer start = in;
        std::string_view word = in.next();
        if (!in.accept(":")) return instruction(in, word);
        if (word.find_first_not_of("0123456789") != word.npos) {
            TRY(label(in, std::string(word)));
        } else if (word != std::to_string(out_.insns.size())) {
            return start.error("expected pc " + std::to_string(out_.insns.size()));
        }
    }
    return {};
}

Result<void> Assembler::label(Lexer& in, std::string name) {
    if (!names_.emplace(name, out_.insns.size()).second) return in.error("label " + name + " is there twice");
    if (!in.accept("{")) return {};
    kpl_label state{};
    state.pc = static_cast<uint32_t>(out_.insns.size());
    while (!in.accept("}")) TRY(label_entry(in, state));
    out_.labels.push_back(state);
    return {};
}

Result<void> Assembler::label_entry(Lexer& in, kpl_label& state) {
    Lexer start = in;
    std::string_view key = in.next();
    TRY(in.expect("="));
    if (key == "stack") {
        state.stack = static_cast<uint64_t>(TRY(in.number()));
        return {};
    }
    if (key == "rec") {
        state.rec_size = static_cast<uint16_t>(TRY(in.number(0, UINT16_MAX)));
        state.rec_pending = 1;
        return {};
    }
    auto reg = parse_register(key);
    if (!reg || !reg->wide || reg->number > 8) return start.error("expected r0 to r8, rec or stack");
    auto type = std::find(assembly::types.begin(), assembly::types.end(), in.peek());
    if (type == assembly::types.end()) return in.error("expected the type of a register");
    in.next();
    state.type[reg->number] = static_cast<uint8_t>(type - assembly::types.begin());
    if (in.accept(":") || in.peek() == "+" || in.peek() == "-")
        state.off[reg->number] = static_cast<int32_t>(TRY(in.number(imm_min, imm_max)));
    return {};
}

Result<void> Assembler::instruction(Lexer& in, std::string_view word) {
    if (word == "exit") {
        emit(BPF_JMP | BPF_EXIT);
        return {};
    }
    if (word == "goto") {
        emit(BPF_JMP | BPF_JA).off = 0;
        out_.insns.back().off = TRY(target(in));
        return {};
    }
    if (word == "call") return call(in);
    if (word == "if") return branch(in);
    if (word == "*") return store(in);
    if (word == ".insn") return raw(in);
    auto dst = parse_register(word);
    if (!dst) return in.error("'" + std::string(word) + "' starts no instruction");
    return to_register(in, *dst);
}

Result<Register> Assembler::reg(Lexer& in) {
    auto found = parse_register(in.peek());
    if (!found) return in.error("expected a register");
    in.next();
    return *found;
}

// Where a jump goes: a label, or slots from the next instruction. Called when the jump has been emitted.
Result<int16_t> Assembler::target(Lexer& in) {
    if (in.peek() == "+" || in.peek() == "-") return static_cast<int16_t>(TRY(in.number(INT16_MIN, INT16_MAX)));
    if (in.at_end()) return in.error("expected where to jump");
    std::string name(in.peek());
    fixups_.push_back({out_.insns.size() - 1, name, in.error("no such label, or out of reach")});
    in.next();
    return int16_t{0};
}

// `(u64 *)(r6 + 8)`; the size's opcode bits.
Result<uint8_t> Assembler::access(Lexer& in, uint8_t& base, int16_t& off) {
    TRY(in.expect("("));
    const assembly::Word* size = assembly::find(assembly::sizes, in.peek());
    if (!size) return in.error("expected u8, u16, u32 or u64");
    in.next();
    for (std::string_view token : {"*", ")", "("}) TRY(in.expect(token));
    base = TRY(reg(in)).number;
    if (in.peek() != "+" && in.peek() != "-") return in.error("expected + or -");
    off = static_cast<int16_t>(TRY(in.number(INT16_MIN, INT16_MAX)));
    TRY(in.expect(")"));
    return size->code;
}

Result<void> Assembler::store(Lexer& in) {
    uint8_t base = 0;
    int16_t off = 0;
    uint8_t size = TRY(access(in, base, off));
    TRY(in.expect("="));
    if (auto src = parse_register(in.peek())) {
        in.next();
        emit(BPF_STX | BPF_MEM | size, base, src->number, off);
    } else {
        emit(BPF_ST | BPF_MEM | size, base, 0, off, static_cast<int32_t>(TRY(in.number(imm_min, imm_max))));
    }
    return {};
}

// What may follow `rN =` beside a move. False: nothing of that was there, and nothing was read.
Result<bool> Assembler::unusual_move(Lexer& in, Register dst) {
    if (in.accept("*")) {
        uint8_t base = 0;
        int16_t off = 0;
        uint8_t size = TRY(access(in, base, off));
        emit(BPF_LDX | BPF_MEM | size, dst.number, base, off);
        return true;
    }
    if (in.accept("map")) {
        emit(BPF_LD | BPF_IMM | BPF_DW, dst.number, 1, 0, static_cast<int32_t>(TRY(in.number(imm_min, imm_max))));
        emit(0);
        return true;
    }
    Lexer ahead = in;
    if (ahead.accept("-") && parse_register(ahead.peek())) {
        Register src = TRY(reg(ahead));
        if (src.number != dst.number) return in.error("only r = -r of one register exists");
        in = ahead;
        emit((dst.wide ? BPF_ALU64 : BPF_ALU) | BPF_NEG, dst.number);
        return true;
    }
    std::string_view word = in.peek();
    bool big = word.starts_with("be");
    if (!big && !word.starts_with("le")) return false;
    std::string_view bits = word.substr(2);
    if (bits != "16" && bits != "32" && bits != "64") return in.error("expected 16, 32 or 64 bits to swap");
    in.next();
    if (TRY(reg(in)).number != dst.number) return in.error("a swap has one register");
    emit(BPF_ALU | BPF_END | (big ? BPF_TO_BE : BPF_TO_LE), dst.number, 0, 0, std::stoi(std::string(bits)));
    return true;
}

// ALU instructions, and those that look like moves.
Result<void> Assembler::to_register(Lexer& in, Register dst) {
    std::string_view token = in.peek();
    if (token.empty() || token.back() != '=') return in.error("expected an assignment");
    const assembly::Word* op = assembly::find(assembly::alu_ops, token.substr(0, token.size() - 1));
    if (!op) return in.error("expected an assignment");
    in.next();
    if (op->code == BPF_MOV && TRY(unusual_move(in, dst))) return {};

    unsigned code = (dst.wide ? BPF_ALU64 : BPF_ALU) | op->code;
    if (auto src = parse_register(in.peek())) {
        if (src->wide != dst.wide) return in.error("both registers must be of one width");
        in.next();
        emit(code | BPF_X, dst.number, src->number);
        return {};
    }
    Lexer before = in;
    int64_t value = TRY(in.number());
    if (op->code == BPF_MOV && dst.wide && in.accept("ll")) {
        emit(BPF_LD | BPF_IMM | BPF_DW, dst.number, 0, 0, static_cast<int32_t>(value));
        emit(0, 0, 0, 0, static_cast<int32_t>(value >> 32));
        return {};
    }
    if (value < imm_min || value > (dst.wide ? imm_max : int64_t{UINT32_MAX}))
        return before.error("expected a number of 32 bits");
    emit(code | BPF_K, dst.number, 0, 0, static_cast<int32_t>(value));
    return {};
}

Result<void> Assembler::branch(Lexer& in) {
    Register dst = TRY(reg(in));
    const assembly::Word* condition = assembly::find(assembly::conditions, in.peek());
    if (!condition) return in.error("expected a comparison");
    in.next();
    unsigned code = (dst.wide ? BPF_JMP : BPF_JMP32) | condition->code;
    if (auto src = parse_register(in.peek())) {
        if (src->wide != dst.wide) return in.error("both registers must be of one width");
        in.next();
        emit(code | BPF_X, dst.number, src->number);
    } else {
        int64_t value = TRY(in.number(imm_min, dst.wide ? imm_max : int64_t{UINT32_MAX}));
        emit(code | BPF_K, dst.number, 0, 0, static_cast<int32_t>(value));
    }
    TRY(in.expect("goto"));
    out_.insns.back().off = TRY(target(in));
    return {};
}

// By name, or by number for one that does not exist.
Result<void> Assembler::call(Lexer& in) {
    for (int32_t id = 0; id < KPL_H_END_; id++) {
        if (!kpl_helper_descs[id].name || in.peek() != kpl_helper_descs[id].name) continue;
        in.next();
        emit(BPF_JMP | BPF_CALL, 0, 0, 0, id);
        return {};
    }
    auto id = in.number(imm_min, imm_max);
    if (!id) return in.error("expected the name of a helper");
    emit(BPF_JMP | BPF_CALL, 0, 0, 0, static_cast<int32_t>(*id));
    return {};
}

Result<void> Assembler::raw(Lexer& in) {
    auto code = static_cast<unsigned>(TRY(in.number(0, 255)));
    auto dst = static_cast<uint8_t>(TRY(in.number(0, 15)));
    auto src = static_cast<uint8_t>(TRY(in.number(0, 15)));
    auto off = static_cast<int16_t>(TRY(in.number(INT16_MIN, INT16_MAX)));
    auto imm = static_cast<int32_t>(TRY(in.number(imm_min, imm_max)));
    emit(code, dst, src, off, imm);
    return {};
}

}  // namespace

Result<Assembly> assemble(std::string_view text) { return Assembler().run(text); }

}  // namespace kpl
