// SPDX-License-Identifier: MIT
#include "foreign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

#include "engines.hpp"
#include "passes.hpp"

namespace kpl::exec {

namespace {

template <class... Args>
Error wrong(fmt::format_string<Args...> text, Args&&... args) {
    return {Errc::usage, fmt::format(text, std::forward<Args>(args)...)};
}

Handler handler_of(Graph graph, const Given& with, uint32_t offset) {
    place_registers(graph, start_state(with, offset));
    return laid_out(graph, with, offset);
}

// An access of the program to its memory.
struct Reach {
    int64_t begin, size;
    bool atomic;
    uint32_t origin;
};

template <class Predicate>
std::optional<Reach> first_reach(const Graph& graph, const Given& with, Predicate is_it) {
    const auto states = states_of(graph, start_state(with, 0));
    for (size_t i = 0; i < graph.size(); i++) {
        const auto access = access_of(graph[i].insn);
        if (!states[i] || !access) continue;
        const Value& base = states[i]->regs[access->base];
        const Reach reach{base.number + graph[i].insn.off, access->size, graph[i].atomic, graph[i].origin};
        if (base.type == KPL_T_DATA && is_it(reach)) return reach;
    }
    return std::nullopt;
}

// The data that the verifier knows of is a multiple of 8 bytes, and may have more before the memory.
std::optional<Reach> outside(const Graph& graph, const Given& with) {
    return first_reach(graph, with, [&with](const Reach& reach) {
        return reach.begin < 0 || reach.begin + reach.size > static_cast<int64_t>(with.memory);
    });
}

// An atomic access that is not aligned is not to become so.
bool may_be_moved(const Graph& graph, const Given& with) {
    const auto odd = [](const Reach& reach) { return reach.atomic && reach.begin % reach.size; };
    return !outside(graph, with) && !first_reach(graph, with, odd);
}

// A number that is known only on each way by itself.
bool may_help_to_unfold(uint32_t reason) {
    return reason == KPL_REJECT_POINTER || reason == KPL_REJECT_UNINIT || reason == KPL_REJECT_STATE;
}

struct Attempt {
    Handler handler;
    Verdict verdict;
};

Attempt attempt(const Graph& graph, const Given& with, uint32_t offset) {
    Attempt now{handler_of(graph, with, offset), {}};
    now.verdict = verdict(now.handler);
    return now;
}

// The memory lies at another offset, or accesses are split.
Attempt aligned(Graph graph, const Given& with) {
    Attempt now = attempt(graph, with, 0);
    if (now.verdict.reason != KPL_REJECT_ALIGN) return now;
    if (may_be_moved(graph, with))
        for (uint32_t offset = 1; offset < 8 && now.verdict.reason == KPL_REJECT_ALIGN; offset++)
            now = attempt(graph, with, offset);
    if (now.verdict.reason == KPL_REJECT_NONE) return now;
    split_unaligned(graph, start_state(with, 0));
    return attempt(graph, with, 0);
}

Result<Attempt> fitting(const Graph& given, const Given& with) {
    Attempt best = aligned(given, with);
    Graph graph = given;
    if (may_help_to_unfold(best.verdict.reason)) {
        auto steps = unfolded(given, start_state(with, 0));
        if (!steps) {
            const Error plain = refused(best.verdict.reason, best.verdict.at);
            if (best.verdict.reason == KPL_REJECT_UNINIT) return plain;
            return Error{Errc::script, fmt::format("{}; turn by turn, its loops take more than {} instructions",
                                                   plain.message(), KPL_MAX_INSNS)};
        }
        graph = std::move(*steps);
        Attempt now = aligned(graph, with);
        if (now.verdict.reason == KPL_REJECT_NONE || now.verdict.at > best.verdict.at) best = std::move(now);
    }
    if (best.verdict.reason != KPL_REJECT_NONE) return best;
    const auto reach = outside(graph, with);
    if (!reach) return best;
    // It may be on a way that the program never goes.
    if (const auto steps = unfolded(given, start_state(with, 0))) {
        Attempt now = aligned(*steps, with);
        if (now.verdict.reason == KPL_REJECT_NONE && !outside(*steps, with)) return now;
    }
    return refused(KPL_REJECT_RANGE, reach->origin);
}

// With registers that only passes know for what functions keep, or else with as much of it as possible on the stack.
Result<Attempt> fitting_without_calls(Graph graph, const Given& with) {
    if (!has_local_calls(graph)) {
        lower(graph);
        return fitting(graph, with);
    }
    static constexpr uint8_t made[] = {first_kept, 13, 14, last_kept, 6, 7, 8, 9}, saved[] = {6, 7, 8, 9};
    const State start = start_state(with, 0);
    const auto kept_in = [&](std::span<const uint8_t> names) -> Result<Attempt> {
        return fitting(TRY(without_calls(graph, start, names)), with);
    };
    Result<Attempt> first = kept_in(made);
    if (first && first->verdict.reason == KPL_REJECT_NONE) return first;
    Result<Attempt> second = kept_in(saved);
    return second && second->verdict.reason == KPL_REJECT_NONE ? second : first;
}

// Passes have registers of their own that no program has.
Result<void> check_registers(const Graph& graph, const Given& with) {
    const auto states = states_of(graph, start_state(with, 0));
    for (size_t i = 0; i < graph.size(); i++)
        if (states[i] && std::max<int>(graph[i].insn.dst_reg, graph[i].insn.src_reg) > 10)
            return refused(KPL_REJECT_REGISTER, graph[i].origin);
    return {};
}

// The verifier would say so, too, but not what of it is the program's.
Result<void> check_size(const Handler& handler, size_t given) {
    const size_t slots = handler.insns.size();
    if (slots > KPL_MAX_INSNS && slots > given)
        return wrong("{} slots, and {} more to make a handler of them; at most {}", given, slots - given,
                     KPL_MAX_INSNS);
    if (slots > KPL_MAX_INSNS) return wrong("{} slots as a handler; at most {}", slots, KPL_MAX_INSNS);
    if (handler.labels.size() > KPL_MAX_LABELS)
        return wrong("jumps back lead to {} places; at most {}", handler.labels.size(), KPL_MAX_LABELS);
    return {};
}

Handler as_it_is(std::vector<bpf_insn> given, const Given& with) {
    Handler handler;
    handler.insns = std::move(given);
    handler.data_size = static_cast<uint32_t>((with.memory + 7) / 8 * 8);
    return handler;
}

}  // namespace

Result<std::vector<uint8_t>> bytes_from_hex(std::string_view what, std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    static constexpr std::string_view digits = "0123456789abcdef";
    std::vector<uint8_t> bytes;
    int high = -1;
    for (const char c : text) {
        if (std::isspace(static_cast<unsigned char>(c))) {
            if (high >= 0) return wrong("{}: half a byte before a space", what);
            continue;
        }
        const size_t digit = digits.find(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
        if (digit == std::string_view::npos)
            return std::isprint(static_cast<unsigned char>(c))
                       ? wrong("{}: '{}' is no hex digit", what, c)
                       : wrong("{}: byte {:#04x} is no hex digit", what, c & 0xff);
        if (high < 0) {
            high = static_cast<int>(digit);
        } else {
            bytes.push_back(static_cast<uint8_t>(high << 4 | static_cast<int>(digit)));
            high = -1;
        }
    }
    if (high >= 0) return wrong("{}: half a byte at the end", what);
    return bytes;
}

Result<Handler> handler_from(std::span<const uint8_t> program, const Given& with) {
    if (program.empty()) return wrong("no program: it is read as pairs of hex digits");
    if (program.size() % sizeof(bpf_insn))
        return wrong("a program is a number of instructions of 8 bytes; this one has {} bytes", program.size());
    if (program.size() / sizeof(bpf_insn) > KPL_MAX_INSNS)
        return wrong("{} slots; at most {}", program.size() / sizeof(bpf_insn), KPL_MAX_INSNS);
    if (with.memory > KPL_MAX_DATA) return wrong("memory of {} bytes; at most {}", with.memory, KPL_MAX_DATA);
    std::vector<bpf_insn> given(program.size() / sizeof(bpf_insn));
    std::memcpy(given.data(), program.data(), program.size());
    if (with.as_is) return as_it_is(std::move(given), with);
    Graph graph = TRY(graph_from(given));
    TRY(check_registers(graph, with));
    Handler handler = TRY(fitting_without_calls(std::move(graph), with)).handler;
    TRY(check_size(handler, given.size()));
    handler.given = std::move(given);
    handler.memory = static_cast<uint32_t>(with.memory);
    handler.context = with.context;
    return handler;
}

}  // namespace kpl::exec
