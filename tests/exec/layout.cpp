// SPDX-License-Identifier: MIT
#include <map>
#include <utility>

#include "passes.hpp"

namespace kpl::exec {

namespace {

// Reverse post-order: a way forward leads to each step. The target of a jump is visited first, which puts what the jump
// falls through to right behind it.
std::vector<size_t> in_order(const Graph& graph) {
    std::vector<size_t> order;
    std::vector<bool> seen(graph.size());
    std::vector<std::pair<size_t, bool>> todo{{0, false}};  // true: all behind it has been visited
    while (!todo.empty()) {
        const auto [step, done] = todo.back();
        todo.pop_back();
        if (done) order.push_back(step);
        if (done || step == off_the_end || seen[step]) continue;
        seen[step] = true;
        todo.emplace_back(step, true);
        if (!is_exit(graph[step].insn)) todo.emplace_back(graph[step].next, false);
        if (is_condition(graph[step].insn)) todo.emplace_back(graph[step].target, false);
    }
    return {order.rbegin(), order.rend()};
}

class Layout {
  public:
    explicit Layout(const Graph& graph) : graph_(graph), at_(graph.size(), unplaced) {}

    // Its registers, as start_state() has them.
    void begin(const Given& given, uint32_t offset) {
        const uint8_t at = given.context ? 2 : 1, length = at + 1;
        if (given.memory)
            add(make(BPF_LDX | BPF_MEM | BPF_DW, at, 1, offsetof(kpl_hit, data), 0), 0);
        else
            add(make(BPF_ALU64 | BPF_MOV | BPF_K, at, 0, 0, 0), 0);
        if (offset) add(make(BPF_ALU64 | BPF_ADD | BPF_K, at, 0, 0, static_cast<int32_t>(offset)), 0);
        out_.first_constant = static_cast<uint32_t>(out_.insns.size());
        add(make(BPF_ALU64 | BPF_MOV | BPF_K, length, 0, 0, static_cast<int32_t>(given.memory)), 0);
        if (given.context) add(make(BPF_LDX | BPF_MEM | BPF_DW, 1, 1, offsetof(kpl_hit, regs), 0), 0);
    }

    void place(size_t step, size_t following) {
        const Step& now = graph_[step];
        at_[step] = out_.insns.size();
        if (goes_back(now)) {  // which only a plain jump may do
            bpf_insn over = now.insn;
            over.off = 1;
            add(over, step);
            add_jump(jump, now.next, step);
            add_jump(jump, now.target, step);
            return;
        }
        if (is_condition(now.insn))
            add_jump(now.insn, now.target, step);
        else if (!is_plain_jump(now.insn))
            add(now.insn, step);
        if (is_wide(now.insn)) add(now.second, step, 1);
        if (!is_exit(now.insn) && now.next != following) add_jump(jump, now.next, step);
    }

    Handler finish(const std::vector<std::optional<State>>& states) {
        std::map<uint32_t, kpl_label> labels;
        for (const auto& [from, to] : jumps_) {
            const size_t target = position(to);
            out_.insns[from].off = static_cast<int16_t>(static_cast<int64_t>(target) - static_cast<int64_t>(from) - 1);
            if (target <= from) labels.emplace(target, label_at(target, *states[steps_[target]]));
        }
        for (const auto& [pc, label] : labels) out_.labels.push_back(label);
        return std::move(out_);
    }

  private:
    static constexpr size_t unplaced = SIZE_MAX;
    static constexpr bpf_insn jump{BPF_JMP | BPF_JA, 0, 0, 0, 0};

    static kpl_label label_at(size_t pc, const State& state) {
        kpl_label label{};
        label.pc = static_cast<uint32_t>(pc);
        label.stack = state.stack;
        for (size_t reg = 0; reg < std::size(label.type); reg++) {
            const Value& value = state.regs[reg];
            label.type[reg] = value.type;
            label.off[reg] = value.type == KPL_T_NUM ? 0 : static_cast<int32_t>(value.number);
        }
        return label;
    }

    // Asked when the step itself is placed.
    bool goes_back(const Step& step) const {
        return is_condition(step.insn) && step.target != off_the_end && at_[step.target] != unplaced;
    }

    // Of a step, once all are placed.
    size_t position(size_t step) const { return step == off_the_end ? out_.insns.size() : at_[step]; }

    void add(const bpf_insn& insn, size_t step, uint32_t slot = 0) {
        out_.insns.push_back(insn);
        out_.origin.push_back(graph_[step].origin + slot);
        steps_.push_back(step);
    }

    void add_jump(const bpf_insn& insn, size_t to, size_t step) {
        jumps_.emplace_back(out_.insns.size(), to);
        add(insn, step);
    }

    const Graph& graph_;
    Handler out_;
    std::vector<size_t> at_;  // of each step
    std::vector<size_t>
        steps_;  // of each instruction: two steps may begin at it, a jump that needs none, and its target
    std::vector<std::pair<size_t, size_t>> jumps_;  // from an instruction to a step
};

}  // namespace

Handler laid_out(const Graph& graph, const Given& given, uint32_t offset) {
    const auto order = in_order(graph);
    Layout layout(graph);
    layout.begin(given, offset);
    for (size_t i = 0; i < order.size(); i++) layout.place(order[i], i + 1 < order.size() ? order[i + 1] : off_the_end);
    Handler out = layout.finish(states_of(graph, start_state(given, offset)));
    out.offset = offset;
    out.data_size = static_cast<uint32_t>((offset + given.memory + 7) / 8 * 8);
    return out;
}

}  // namespace kpl::exec
