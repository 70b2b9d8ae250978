// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "passes.hpp"

namespace kpl::exec {

namespace {

bool is_plain_exit(const bpf_insn& insn) {
    return is_exit(insn) && !insn.dst_reg && !insn.src_reg && !insn.off && !insn.imm;
}

// A call that has not returned; the program itself is the first.
struct Frame {
    size_t caller = 0;                // of the frames
    size_t back = off_the_end;        // the step it returns to
    std::array<uint8_t, 16> names{};  // what its registers are called
    uint8_t free = first_kept;
};

class Inlining {
  public:
    explicit Inlining(const Graph& graph) : graph_(graph) {
        frames_.emplace_back();
        for (uint8_t reg = 0; reg < 16; reg++) frames_[0].names[reg] = reg;
    }

    std::optional<Graph> run() {
        place(0, 0);
        while (!todo_.empty()) {
            const auto [key, at] = todo_.back();
            todo_.pop_back();
            if (placed_.size() > KPL_MAX_INSNS) return std::nullopt;
            const auto [from, frame] = key;
            const auto step = copied(graph_[from], frame, from);
            if (!step) return std::nullopt;
            out_.resize(placed_.size());
            out_[at] = *step;
        }
        return std::move(out_);
    }

  private:
    using Key = std::pair<size_t, size_t>;  // step and frame

    size_t place(size_t step, size_t frame) {
        if (step == off_the_end) return off_the_end;
        const auto [at, is_new] = placed_.emplace(Key{step, frame}, placed_.size());
        if (is_new) todo_.emplace_back(*at);
        return at->second;
    }

    std::optional<Step> copied(Step step, size_t frame, size_t from) {
        const bpf_insn jump = make(BPF_JMP | BPF_JA, 0, 0, 0, 0);
        if (is_local_call(step.insn)) {
            const auto callee = frame_of(from, frame);
            if (!callee) return std::nullopt;
            step.insn = jump;
            step.next = place(step.target, *callee);
        } else if (frame && is_plain_exit(step.insn)) {
            step.insn = jump;
            step.next = place(frames_[frame].back, frames_[frame].caller);
        } else {
            if (is_condition(step.insn)) step.target = place(step.target, frame);
            if (!is_exit(step.insn)) step.next = place(step.next, frame);
            step.insn.dst_reg = frames_[frame].names[step.insn.dst_reg] & 15;
            step.insn.src_reg = frames_[frame].names[step.insn.src_reg] & 15;
        }
        return step;
    }

    // None: its registers cannot be kept apart from the caller's.
    std::optional<size_t> frame_of(size_t call, size_t caller) {
        const auto known = called_.find({call, caller});
        if (known != called_.end()) return known->second;
        Frame frame = frames_[caller];
        frame.caller = caller;
        frame.back = graph_[call].next;
        const auto named = names_in(graph_[call].target);
        if (std::any_of(named.begin() + 10, named.end(), [](bool is) { return is; })) return std::nullopt;
        for (uint8_t reg = 6; reg < 10; reg++) {
            if (!named[reg]) continue;
            if (frame.free > last_kept) return std::nullopt;
            frame.names[reg] = frame.free++;
        }
        frames_.push_back(frame);
        called_[{call, caller}] = frames_.size() - 1;
        return frames_.size() - 1;
    }

    // What a function names, without those that it calls.
    std::array<bool, 16> names_in(size_t entry) const {
        std::array<bool, 16> named{};
        std::vector<bool> seen(graph_.size());
        std::vector<size_t> todo{entry};
        while (!todo.empty()) {
            const size_t at = todo.back();
            todo.pop_back();
            if (at == off_the_end || seen[at]) continue;
            seen[at] = true;
            const Step& step = graph_[at];
            named[step.insn.dst_reg] = named[step.insn.src_reg] = true;
            if (is_condition(step.insn)) todo.push_back(step.target);
            if (!is_exit(step.insn)) todo.push_back(step.next);
        }
        return named;
    }

    const Graph& graph_;
    std::vector<Frame> frames_;
    std::map<Key, size_t> placed_, called_;  // called: by a call in a frame
    std::vector<std::pair<Key, size_t>> todo_;
    Graph out_;
};

}  // namespace

Graph inlined(const Graph& graph) {
    const auto is_call_of_own = [](const Step& step) { return is_local_call(step.insn); };
    if (std::none_of(graph.begin(), graph.end(), is_call_of_own)) return graph;
    return Inlining(graph).run().value_or(graph);
}

}  // namespace kpl::exec
