// SPDX-License-Identifier: MIT
// The rules of arch/arm64/kernel/probes (decode-insn.c, kprobes.c). This architecture steps a copy of the
// instruction or simulates it; it neither boosts nor optimizes, and ftrace sites are refused.
#include <algorithm>

#include "arch/rows.hpp"

namespace kpl {
namespace {

constexpr uint64_t insn_size = 4;
constexpr size_t longest_atomic = 128 / insn_size;  // MAX_ATOMIC_CONTEXT_SIZE, in instructions

struct Form {
    uint32_t mask, value;
    bool matches(uint32_t insn) const { return (insn & mask) == value; }
};

template <size_t N>
bool any(const Form (&forms)[N], uint32_t insn) {
    return std::any_of(forms, forms + N, [insn](const Form& form) { return form.matches(insn); });
}

// Relative to their place, but simulated: b, bl, b.cond, cbz, tbz, br, blr, ret, adr, adrp, ldr and ldrsw of
// literals.
constexpr Form simulated[] = {
    {0x7c000000, 0x14000000}, {0xff000010, 0x54000000}, {0x7e000000, 0x34000000}, {0x7e000000, 0x36000000},
    {0xfffffc1f, 0xd61f0000}, {0xfffffc1f, 0xd63f0000}, {0xfffffc1f, 0xd65f0000}, {0x1f000000, 0x10000000},
    {0xbf000000, 0x18000000}, {0xff000000, 0x98000000},
};
// Other branches, exceptions, eret, msr, reads of daif, literals of other kinds, exclusives.
constexpr Form refused[] = {
    {0xfe000000, 0xd6000000}, {0xff000000, 0x54000000}, {0xff000000, 0xd4000000}, {0xfff8f01f, 0xd500401f},
    {0xfff00000, 0xd5100000}, {0xffffffe0, 0xd53b4220}, {0x3b000000, 0x18000000}, {0x3f000000, 0x08000000},
};
constexpr Form hint = {0xfffff01f, 0xd503201f};
constexpr Form load_exclusive = {0x3f400000, 0x08400000}, store_exclusive = {0x3f400000, 0x08000000};

// nop, pointer authentication and landing pads step well; yield, wfe, wfi and sev do not.
bool steps(uint32_t hint_insn) {
    const uint32_t number = hint_insn >> 5 & 0x7f;
    return number == 0 || number == 7 || (number >= 8 && number <= 14 && number % 2 == 0) ||
           (number >= 24 && number <= 31) || (number >= 32 && number <= 38 && number % 2 == 0);
}

bool can_run(uint32_t insn) {
    if (any(simulated, insn)) return true;
    return hint.matches(insn) ? steps(insn) : !any(refused, insn);
}

uint32_t word(std::span<const uint8_t> code, size_t index) {
    const uint8_t* at = code.data() + index * insn_size;
    return at[0] | at[1] << 8 | at[2] << 16 | static_cast<uint32_t>(at[3]) << 24;
}

// Whether the last exclusive access before this instruction is a load.
bool is_atomic(std::span<const uint8_t> code, size_t index) {
    for (size_t back = 1; back <= std::min(index, longest_atomic); back++) {
        const uint32_t insn = word(code, index - back);
        if (load_exclusive.matches(insn)) return true;
        if (store_exclusive.matches(insn)) return false;
    }
    return false;
}

bool has(const std::vector<uint64_t>& list, uint64_t addr) {
    return std::find(list.begin(), list.end(), addr) != list.end();
}

// The nops that -fpatchable-function-entry puts behind a landing pad: the site is the second.
std::optional<size_t> ftrace_index(std::span<const uint8_t> code, size_t count) {
    constexpr uint32_t nop = 0xd503201f, bti_c = 0xd503245f, mov_x9_lr = 0xaa1e03e9;
    const size_t first = count > 0 && word(code, 0) == bti_c ? 1 : 0;
    if (count < first + 2) return std::nullopt;
    const uint32_t before = word(code, first), site = word(code, first + 1);
    if (before == nop && site == nop) return first + 1;
    const bool call = (site & 0xfc000000) == 0x94000000;
    return before == mov_x9_lr && (site == nop || call) ? std::optional(first + 1) : std::nullopt;
}

Why stand(const FunctionFacts& facts, size_t index, uint64_t addr) {
    if (facts.init_text.has(addr)) return Why::init_code;
    for (const AddressRange& range : facts.blacklist)
        if (range.has(addr)) return Why::blacklisted;
    if (facts.ftrace_alone) return Why::ftrace_alone;
    if (has(facts.jump_labels, addr)) return Why::jump_label;
    if (has(facts.static_calls, addr)) return Why::static_call;
    if (has(facts.bugs, addr)) return Why::bug;
    if (has(facts.fixups, addr)) return Why::fixup;
    if (!can_run(word(facts.code, index))) return Why::not_stepped;
    return is_atomic(facts.code, index) ? Why::exclusive : Why::none;
}

}  // namespace

std::vector<ProbePoint> arm64_points(const FunctionFacts& facts) {
    std::vector<ProbePoint> out;
    const size_t count = std::min<size_t>(facts.size, facts.code.size()) / insn_size;
    const auto site = ftrace_index(facts.code, count);
    for (size_t i = 0; i < count; i++) {
        const uint64_t addr = facts.addr + i * insn_size;
        ProbePoint point{addr, insn_size, {}, false, {stand(facts, i, addr)}, {Why::no_boost}, {Why::no_optprobes}};
        if (i == site) point.probe.why = Why::ftrace_only;
        out.push_back(point);
    }
    return out;
}

}  // namespace kpl
