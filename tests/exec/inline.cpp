// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engines.hpp"
#include "passes.hpp"
#include "reference.hpp"

namespace kpl::exec {

namespace {

using Names = uint32_t;  // of registers, by bits

constexpr Names bit(uint8_t reg) { return Names{1} << reg; }
constexpr uint8_t first_own = 6, last_own = 9;  // the registers that a function keeps for its caller

bool is_plain_exit(const bpf_insn& insn) {
    return is_exit(insn) && !insn.dst_reg && !insn.src_reg && !insn.off && !insn.imm;
}

// A copy of r10, and nothing else.
bool takes_frame(const bpf_insn& insn) {
    return insn.code == (BPF_ALU64 | BPF_MOV | BPF_X) && insn.src_reg == BPF_REG_10 && !insn.off && !insn.imm;
}

// Before each step: the registers that it, or one that comes later, may read before it writes them. What a function
// reads of its caller's is among them; what a caller reads behind a return is not.
std::vector<Names> live_in(const Graph& graph) {
    std::vector<Names> live(graph.size());
    const auto at = [&live](size_t step) { return step == off_the_end ? 0 : live[step]; };
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = graph.size(); i-- > 0;) {
            const Step& step = graph[i];
            Names now = is_exit(step.insn) ? 0 : at(step.next);
            if (is_condition(step.insn) || is_local_call(step.insn)) now |= at(step.target);
            if (writes_dst(step.insn) && !reads_dst(step.insn)) now &= ~bit(step.insn.dst_reg);
            now |= bit(step.insn.src_reg) | (reads_dst(step.insn) ? bit(step.insn.dst_reg) : 0);
            changed = changed || now != live[i];
            live[i] = now;
        }
    }
    return live;
}

// A call that has not returned; the program itself is the first.
struct Frame {
    size_t caller = 0;                                // of the frames
    size_t back = off_the_end;                        // the step it returns to
    size_t depth = 0;                                 // callers
    std::array<uint8_t, 16> names{};                  // what its registers are called
    Names kept = 0;                                   // what those before it have in registers, and want back
    Names bases = 0;                                  // of all names, those by which memory is reached
    std::vector<uint8_t> saved;                       // of names: what its caller has on the stack meanwhile
    std::vector<std::pair<uint8_t, uint8_t>> copied;  // to a name, from one: registers that it reads as its caller left
                                                      // them, and writes
};

class Inlining {
  public:
    Inlining(const Graph& graph, std::span<const uint8_t> names, const FrameTops& tops)
        : graph_(graph), names_(names), tops_(tops), live_(live_in(graph)) {
        frames_.emplace_back();
        for (uint8_t reg = 0; reg < 16; reg++) frames_[0].names[reg] = reg;
    }

    Result<Inlined> run() {
        frames_[0].bases = TRY(named_in(0)).bases;
        place(0, 0);
        while (!todo_.empty()) {
            const auto [key, at] = todo_.back();
            todo_.pop_back();
            if (placed_.size() > KPL_MAX_INSNS)
                return Error{Errc::script, fmt::format("its own functions, in the place of each call, take more than "
                                                       "{} instructions",
                                                       KPL_MAX_INSNS)};
            const auto [from, frame] = key;
            Step step = TRY(is_local_call(graph_[from].insn) ? called(from, frame) : copied(from, frame));
            out_.graph[at] = step;
        }
        return std::move(out_);
    }

  private:
    using Key = std::pair<size_t, size_t>;  // step and frame
    struct Named {
        Names all = 0, bases = 0;
    };

    size_t add(const bpf_insn& insn, size_t next, const Step& from) {
        out_.graph.push_back({insn, {}, next, 0, from.origin, false});
        return out_.graph.size() - 1;
    }

    size_t place(size_t step, size_t frame) {
        if (step == off_the_end) return off_the_end;
        const auto [at, is_new] = placed_.emplace(Key{step, frame}, out_.graph.size());
        if (is_new) {
            out_.graph.emplace_back();
            todo_.emplace_back(*at);
        }
        return at->second;
    }

    // r10 of a function; what is saved for it lies below its caller's.
    int top(const Frame& frame) const { return tops_[2 * frame.depth]; }
    int16_t home(const Frame& frame, size_t nr) {
        out_.has_frames = true;
        return static_cast<int16_t>(tops_[2 * frame.depth - 1] - 8 * (static_cast<int>(nr) + 1));
    }

    Result<Step> called(size_t from, size_t caller) {
        Step step = graph_[from];
        const size_t callee = TRY(frame_of(from, caller));
        size_t next = place(step.target, callee);
        const Frame& frame = frames_[callee];
        for (const auto& [to, reg] : frame.copied)
            next = add(make(BPF_ALU64 | BPF_MOV | BPF_X, to, reg, 0, 0), next, step);
        for (size_t i = 0; i < frame.saved.size(); i++)
            next = add(make(BPF_STX | BPF_MEM | BPF_DW, 10, frame.saved[i], home(frame, i), 0), next, step);
        step.insn = make(BPF_JMP | BPF_JA, 0, 0, 0, 0);
        step.next = next;
        return step;
    }

    Step returned(Step step, const Frame& frame) {
        size_t next = place(frame.back, frame.caller);
        for (size_t i = 0; i < frame.saved.size(); i++)
            next = add(make(BPF_LDX | BPF_MEM | BPF_DW, frame.saved[i], 10, home(frame, i), 0), next, step);
        step.insn = make(BPF_JMP | BPF_JA, 0, 0, 0, 0);
        step.next = next;
        return step;
    }

    Result<Step> copied(size_t from, size_t number) {
        Step step = graph_[from];
        if (number && is_plain_exit(step.insn)) return returned(step, frames_[number]);
        if (is_condition(step.insn)) step.target = place(step.target, number);
        if (!is_exit(step.insn)) step.next = place(step.next, number);
        const Frame& frame = frames_[number];
        if (number) TRY(move_frame(step, frame));
        step.insn.dst_reg = frame.names[step.insn.dst_reg] & 15;
        step.insn.src_reg = frame.names[step.insn.src_reg] & 15;
        return step;
    }

    // What is said by r10 of a called function, by the program's.
    Result<void> move_frame(Step& step, const Frame& frame) {
        const auto access = access_of(step.insn);
        if (access && access->base == BPF_REG_10) {
            if (step.insn.off < -KPL_MAX_STACK || step.insn.off + access->size > 0)
                return refused(KPL_REJECT_RANGE, step.origin);
            step.insn.off = static_cast<int16_t>(step.insn.off + top(frame));
        } else if (takes_frame(step.insn)) {
            const uint8_t to = frame.names[step.insn.dst_reg];
            step.next = add(make(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, top(frame)), step.next, step);
        } else {
            return {};
        }
        out_.has_frames = true;
        return {};
    }

    Result<size_t> frame_of(size_t call, size_t caller) {
        const auto known = called_.find({call, caller});
        if (known != called_.end()) return known->second;
        const Step& step = graph_[call];
        if (frames_[caller].depth == most_calls)
            return Error{Errc::script, fmt::format("refused: more than {} calls of its own functions within each other "
                                                   "at {}",
                                                   most_calls, step.origin)};
        Frame frame = frames_[caller];
        frame.caller = caller;
        frame.back = step.next;
        frame.depth++;
        frame.saved.clear();
        frame.copied.clear();
        if (!name_registers(frame, TRY(named_in(step.target)), step)) return refused(KPL_REJECT_REGISTER, step.origin);
        frames_.push_back(frame);
        called_[{call, caller}] = frames_.size() - 1;
        return frames_.size() - 1;
    }

    Names live_at(size_t step) const { return step == off_the_end ? 0 : live_[step]; }

    // A name for each register that the function keeps: one that nobody before it needs, or one that its caller saves.
    bool name_registers(Frame& frame, const Named& named, const Step& call) const {
        const std::array<uint8_t, 16> before = frame.names;
        Names read = 0, own = 0;
        for (uint8_t reg = first_own; reg <= last_own; reg++) {
            if (live_at(call.target) & bit(reg)) read |= bit(before[reg]);
            if (live_at(call.next) & bit(reg)) frame.kept |= bit(before[reg]);
        }
        for (uint8_t reg = first_own; reg <= last_own; reg++) {
            if (!(named.all & bit(reg))) continue;
            const auto is_free = [&](uint8_t name) { return !((frame.kept | read | own) & bit(name)); };
            const auto number = [&](uint8_t name) { return !((read | own | frame.bases) & bit(name)); };
            const auto any = [&](uint8_t name) { return !((read | own) & bit(name)); };
            auto name = std::find_if(names_.begin(), names_.end(), is_free);
            if (name == names_.end()) name = std::find_if(names_.begin(), names_.end(), number);
            if (name == names_.end()) name = std::find_if(names_.begin(), names_.end(), any);
            if (name == names_.end()) return false;
            if (frame.kept & bit(*name)) frame.saved.push_back(*name);
            if (live_at(call.target) & bit(reg)) frame.copied.emplace_back(*name, before[reg]);
            frame.names[reg] = *name;
            own |= bit(*name);
            frame.kept &= ~bit(*name);
            frame.bases = named.bases & bit(reg) ? frame.bases | bit(*name) : frame.bases & ~bit(*name);
        }
        return true;
    }

    // What a function names, without those that it calls.
    Result<Named> named_in(size_t entry) const {
        Named named;
        std::vector<bool> seen(graph_.size());
        std::vector<size_t> todo{entry};
        while (!todo.empty()) {
            const size_t at = todo.back();
            todo.pop_back();
            if (at == off_the_end || seen[at]) continue;
            seen[at] = true;
            const Step& step = graph_[at];
            if (std::max<int>(step.insn.dst_reg, step.insn.src_reg) > 10)
                return refused(KPL_REJECT_REGISTER, step.origin);
            named.all |= bit(step.insn.dst_reg) | bit(step.insn.src_reg);
            if (const auto access = access_of(step.insn)) named.bases |= bit(access->base);
            if (takes_frame(step.insn)) named.bases |= bit(step.insn.dst_reg);
            if (is_condition(step.insn)) todo.push_back(step.target);
            if (!is_exit(step.insn)) todo.push_back(step.next);
        }
        return named;
    }

    const Graph& graph_;
    const std::span<const uint8_t> names_;
    const FrameTops& tops_;
    const std::vector<Names> live_;
    std::vector<Frame> frames_;
    std::map<Key, size_t> placed_, called_;  // called: by a call in a frame
    std::vector<std::pair<Key, size_t>> todo_;
    Inlined out_;
};

}  // namespace

bool has_local_calls(const Graph& graph) {
    return std::any_of(graph.begin(), graph.end(), [](const Step& step) { return is_local_call(step.insn); });
}

Result<Inlined> inlined(const Graph& graph, std::span<const uint8_t> names, const FrameTops& tops) {
    return Inlining(graph, names, tops).run();
}

}  // namespace kpl::exec
