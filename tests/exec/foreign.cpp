// SPDX-License-Identifier: MIT
#include "foreign.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

namespace kpl::exec {

namespace {

template <class... Args>
Error wrong(fmt::format_string<Args...> text, Args&&... args) {
    return {Errc::usage, fmt::format(text, std::forward<Args>(args)...)};
}

constexpr int registers = 11;
constexpr uint8_t fuel_register = 9;

bool is_wide(const bpf_insn& insn) { return insn.code == (BPF_LD | BPF_IMM | BPF_DW); }

bool is_jump(const bpf_insn& insn) {
    const int kind = BPF_CLASS(insn.code), op = BPF_OP(insn.code);
    return (kind == BPF_JMP || kind == BPF_JMP32) && op != BPF_CALL && op != BPF_EXIT;
}

bool is_plain_jump(const bpf_insn& insn) { return insn.code == (BPF_JMP | BPF_JA); }
bool is_exit(const bpf_insn& insn) { return insn.code == (BPF_JMP | BPF_EXIT); }
bool is_call(const bpf_insn& insn) { return insn.code == (BPF_JMP | BPF_CALL); }

bpf_insn make(uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm) {
    bpf_insn insn{};
    insn.code = code, insn.dst_reg = dst, insn.src_reg = src, insn.off = off, insn.imm = imm;
    return insn;
}

// r9's place is taken by a register that is used nowhere; over a call only r6 to r8 keep their values.
void free_the_fuel_register(std::vector<bpf_insn>& insns) {
    std::array<bool, 16> used{};
    used[0] = used[1] = used[2] = true;  // the result and what the program is given
    bool calls = false;
    for (size_t i = 0; i < insns.size(); i++) {
        used[insns[i].dst_reg] = used[insns[i].src_reg] = true;
        calls = calls || is_call(insns[i]);
        if (is_wide(insns[i])) i++;
    }
    if (!used[fuel_register]) return;
    int other = 8;
    while (other >= (calls ? 6 : 3) && used[other]) other--;
    if (other < (calls ? 6 : 3)) return;
    for (size_t i = 0; i < insns.size(); i++) {
        if (insns[i].dst_reg == fuel_register) insns[i].dst_reg = other;
        if (insns[i].src_reg == fuel_register) insns[i].src_reg = other;
        if (is_wide(insns[i])) i++;
    }
}

// The prologue and the given program, its conditional jumps back split.
Result<Handler> laid_out(const std::vector<bpf_insn>& given, size_t memory) {
    Handler out;
    std::vector<size_t> at(given.size() + 1);  // where each instruction went
    std::vector<std::pair<size_t, size_t>> jumps;
    const auto add = [&out](const bpf_insn& insn, size_t from) {
        out.insns.push_back(insn), out.origin.push_back(static_cast<uint32_t>(from));
    };
    if (memory)
        add(make(BPF_LDX | BPF_MEM | BPF_DW, 1, 1, offsetof(kpl_hit, data), 0), 0);
    else
        add(make(BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 0), 0);
    add(make(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, static_cast<int32_t>(memory)), 0);
    for (size_t i = 0; i < given.size(); i++) {
        at[i] = out.insns.size();
        const bpf_insn& insn = given[i];
        if (is_jump(insn)) {
            const auto target = static_cast<int64_t>(i) + 1 + insn.off;
            if (target < 0 || target > static_cast<int64_t>(given.size()))
                return wrong("the jump of instruction {} leaves the program", i);
            if (insn.off < 0 && !is_plain_jump(insn)) {
                bpf_insn over = insn;
                over.off = 1;
                add(over, i);
                add(make(BPF_JMP | BPF_JA, 0, 0, 1, 0), i);
                jumps.emplace_back(out.insns.size(), static_cast<size_t>(target));
                add(make(BPF_JMP | BPF_JA, 0, 0, 0, 0), i);
                continue;
            }
            jumps.emplace_back(out.insns.size(), static_cast<size_t>(target));
        }
        add(insn, i);
        if (is_wide(insn) && i + 1 < given.size()) i++, at[i] = out.insns.size(), add(given[i], i);
    }
    at[given.size()] = out.insns.size();
    for (const auto& [from, target] : jumps)
        out.insns[from].off = static_cast<int16_t>(static_cast<int64_t>(at[target]) - static_cast<int64_t>(from) - 1);
    return out;
}

struct Value {
    uint8_t type = KPL_T_NONE;
    int32_t off = 0;
    bool operator==(const Value&) const = default;
};

// What holds before an instruction.
struct State {
    std::array<Value, registers> regs;
    uint64_t stack = 0;  // as in struct kpl_label
    bool operator==(const State&) const = default;
};

State joined(const State& a, const State& b) {
    State both;
    for (int i = 0; i < registers; i++)
        if (a.regs[i] == b.regs[i]) both.regs[i] = a.regs[i];
    both.stack = a.stack & b.stack;
    return both;
}

void compute(State& state, const bpf_insn& insn) {
    Value& to = state.regs[insn.dst_reg];
    const Value from = state.regs[insn.src_reg];
    const bool wide = BPF_CLASS(insn.code) == BPF_ALU64, constant = BPF_SRC(insn.code) == BPF_K;
    if (wide && BPF_OP(insn.code) == BPF_MOV && !constant)
        to = from;
    else if (wide && BPF_OP(insn.code) == BPF_ADD && constant && to.type != KPL_T_NUM)
        to.off += insn.imm;
    else
        to = {KPL_T_NUM, 0};
}

// The 8 bytes of the stack that a store fills whole.
void store(State& state, const bpf_insn& insn) {
    const Value& to = state.regs[insn.dst_reg];
    const int64_t off = int64_t{to.off} + insn.off;
    if (to.type == KPL_T_STACK && BPF_SIZE(insn.code) == BPF_DW && off % 8 == 0 && off >= -512 && off < 0)
        state.stack |= uint64_t{1} << (-off / 8 - 1);
}

State after(State state, const bpf_insn& insn) {
    switch (BPF_CLASS(insn.code)) {
        case BPF_ALU:
        case BPF_ALU64: compute(state, insn); break;
        case BPF_LD: state.regs[insn.dst_reg] = {KPL_T_NUM, 0}; break;
        case BPF_LDX:
            state.regs[insn.dst_reg] =
                state.regs[insn.src_reg].type == KPL_T_HIT ? Value{KPL_T_DATA, 0} : Value{KPL_T_NUM, 0};
            break;
        case BPF_ST:
        case BPF_STX: store(state, insn); break;
        default:
            if (!is_call(insn)) break;
            for (int i = 1; i < 6; i++) state.regs[i] = {};
            state.regs[0] = {KPL_T_NUM, 0};
    }
    return state;
}

// The states at all targets of jumps back, once no way changes them any more.
std::vector<kpl_label> labels_of(const std::vector<bpf_insn>& insns) {
    std::vector<std::optional<State>> before(insns.size());
    std::vector<size_t> todo{0};
    State start;
    start.regs[1] = {KPL_T_HIT, 0};
    start.regs[10] = {KPL_T_STACK, 0};
    before[0] = start;
    const auto reach = [&](size_t i, const State& state) {
        if (i >= insns.size()) return;
        const State now = before[i] ? joined(*before[i], state) : state;
        if (before[i] == now) return;
        before[i] = now;
        todo.push_back(i);
    };
    while (!todo.empty()) {
        const size_t i = todo.back();
        todo.pop_back();
        const bpf_insn& insn = insns[i];
        if (is_exit(insn)) continue;
        const State state = after(*before[i], insn);
        if (is_jump(insn)) reach(i + 1 + static_cast<size_t>(insn.off), state);
        if (!is_plain_jump(insn)) reach(i + (is_wide(insn) ? 2 : 1), state);
    }
    std::map<uint32_t, kpl_label> labels;
    for (size_t i = 0; i < insns.size(); i++) {
        if (!is_jump(insns[i]) || insns[i].off >= 0 || (i && is_wide(insns[i - 1]))) continue;
        const size_t target = i + 1 + static_cast<size_t>(insns[i].off);
        if (target >= insns.size() || !before[target]) continue;
        kpl_label label{};
        label.pc = static_cast<uint32_t>(target);
        label.stack = before[target]->stack;
        for (int reg = 0; reg < 9; reg++)
            label.type[reg] = before[target]->regs[reg].type, label.off[reg] = before[target]->regs[reg].off;
        labels.emplace(label.pc, label);
    }
    std::vector<kpl_label> list;
    for (const auto& [pc, label] : labels) list.push_back(label);
    return list;
}

}  // namespace

Result<std::vector<uint8_t>> bytes_from_hex(std::string_view text) {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::vector<uint8_t> bytes;
    int high = -1;
    for (const char c : text) {
        if (std::isspace(static_cast<unsigned char>(c))) {
            if (high >= 0) return wrong("half a byte before a space");
            continue;
        }
        const size_t digit = digits.find(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
        if (digit == std::string_view::npos) return wrong("'{}' is no hex digit", c);
        if (high < 0) {
            high = static_cast<int>(digit);
        } else {
            bytes.push_back(static_cast<uint8_t>(high << 4 | static_cast<int>(digit)));
            high = -1;
        }
    }
    if (high >= 0) return wrong("half a byte at the end");
    return bytes;
}

Result<Handler> handler_from(std::span<const uint8_t> program, size_t memory) {
    if (program.empty() || program.size() % sizeof(bpf_insn))
        return wrong("a program is a number of instructions of 8 bytes; this one has {} bytes", program.size());
    if (memory > KPL_MAX_DATA) return wrong("memory of {} bytes; at most {}", memory, KPL_MAX_DATA);
    std::vector<bpf_insn> given(program.size() / sizeof(bpf_insn));
    std::memcpy(given.data(), program.data(), program.size());
    free_the_fuel_register(given);
    Handler out = TRY(laid_out(given, memory));
    out.labels = labels_of(out.insns);
    out.data_size = static_cast<uint32_t>((memory + 7) / 8 * 8);
    return out;
}

}  // namespace kpl::exec
