// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engines.hpp"
#include "passes.hpp"

namespace kpl::exec {

namespace {

// Far enough that what leaves one frame, and is not refused for that here, leaves the stack where they lie close.
constexpr int apart = 3 * KPL_MAX_STACK;

constexpr FrameTops far_apart() {
    FrameTops tops{};
    for (size_t i = 0; i < tops.size(); i++) tops[i] = -apart * static_cast<int>(i);
    return tops;
}
static_assert(far_apart().back() - KPL_MAX_STACK >= INT16_MIN);

using Depths = std::array<int, std::tuple_size_v<FrameTops>>;

// Which frame a place of the stack lies in, and how far below its top.
std::pair<size_t, int64_t> frame_at(int64_t at) {
    const int64_t frame = at < 0 ? (-at - 1) / apart : 0;
    return {static_cast<size_t>(frame), -(at + frame * apart)};
}

bool is_frame(size_t frame, int64_t depth) { return frame < Depths().size() && depth <= KPL_MAX_STACK; }

Result<void> add_access(Depths& depths, const Value& base, const Access& access, const Step& step) {
    if (base.type == KPL_T_NONE) return refused(KPL_REJECT_UNINIT, step.origin);
    if (base.type != KPL_T_STACK) return {};
    const auto [frame, depth] = frame_at(base.number + step.insn.off);
    if (!is_frame(frame, depth) || access.size > depth) return refused(KPL_REJECT_RANGE, step.origin);
    depths[frame] = std::max(depths[frame], static_cast<int>(depth));
    return {};
}

// A helper reaches up from where its argument points to; what it is not given may point anywhere.
void add_arguments(Depths& depths, const State& state) {
    for (uint8_t reg = 1; reg <= 5; reg++) {
        if (state.regs[reg].type != KPL_T_STACK) continue;
        const auto [frame, depth] = frame_at(state.regs[reg].number);
        if (is_frame(frame, depth)) depths[frame] = std::max(depths[frame], static_cast<int>(depth));
    }
}

Result<Depths> depths_of(const Graph& graph, const State& start) {
    const auto states = states_of(graph, start);
    Depths depths{};
    for (size_t i = 0; i < graph.size(); i++) {
        if (!states[i]) continue;
        const auto access = access_of(graph[i].insn);
        if (access) TRY(add_access(depths, states[i]->regs[access->base], *access, graph[i]));
        if (is_call(graph[i].insn)) add_arguments(depths, *states[i]);
    }
    return depths;
}

Result<FrameTops> tops_for(const Depths& depths) {
    FrameTops tops{};
    int end = 0;
    for (size_t i = 0; i < depths.size(); i++) {
        tops[i] = end;
        end -= (depths[i] + 7) / 8 * 8;
    }
    if (-end > KPL_MAX_STACK)
        return Error{Errc::script, fmt::format("the stacks of its own functions, and what they keep, take {} bytes "
                                               "together; at most {}",
                                               -end, KPL_MAX_STACK)};
    return tops;
}

}  // namespace

Result<Graph> without_calls(const Graph& graph, const State& start, std::span<const uint8_t> names) {
    Inlined far = TRY(inlined(graph, names, far_apart()));
    lower(far.graph);
    if (!far.has_frames) return std::move(far.graph);
    // A pointer may be another one on each way.
    const auto ways = unfolded(far.graph, start);
    const Depths depths = TRY(depths_of(ways ? *ways : far.graph, start));
    Inlined close = TRY(inlined(graph, names, TRY(tops_for(depths))));
    lower(close.graph);
    return std::move(close.graph);
}

}  // namespace kpl::exec
