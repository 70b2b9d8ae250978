// SPDX-License-Identifier: MIT
#include "fuzz/mutate.hpp"

#include <algorithm>

#include "core/core.h"

namespace kpl::fuzz {
namespace {

bool jumps(const bpf_insn& insn) {
    uint8_t form = kpl_insn_forms[insn.code];
    return form == KPL_F_JA || form == KPL_F_JCC_K || form == KPL_F_JCC_X;
}

}  // namespace

int32_t Mutator::number() {
    static constexpr int32_t edges[] = {0, 1, -1, 2, 4, 7, 8, 12, 16, 24, 31, 32, 63, 64, 255, INT32_MIN, INT32_MAX};
    if (one_in(4)) return static_cast<int32_t>(random_());
    if (one_in(3)) return -8 * static_cast<int32_t>(below(66));
    return edges[below(std::size(edges))];
}

rows::Row Mutator::next() {
    rows::Row row = any_row();
    for (size_t changes = 1 + below(3) * below(2); changes > 0; changes--) change(row);
    return row;
}

void Mutator::change(rows::Row& row) {
    auto& insns = row.code.insns;
    const auto& donor = any_row().code.insns;
    size_t at = below(insns.size() + 1);
    switch (below(8)) {
        case 0:  // a stretch of another program
        case 1: {
            size_t from = below(donor.size()), n = std::min(1 + below(6), donor.size() - from);
            insert(row, at,
                   {donor.begin() + static_cast<ptrdiff_t>(from), donor.begin() + static_cast<ptrdiff_t>(from + n)});
            return;
        }
        case 2:
            if (insns.size() > 1) erase(row, below(insns.size()), 1 + below(2));
            return;
        case 3:  // a stretch of itself
            insert(row, at, std::vector<bpf_insn>(1, insns[below(insns.size())]));
            return;
        case 4:
            if (insns.size() > 1) std::swap(insns[below(insns.size())], insns[below(insns.size())]);
            return;
        case 5:
            if (!row.code.labels.empty()) change_label(row);
            return;
        default: change_field(insns[below(insns.size())]);
    }
}

// Mostly a field that the instruction uses; at times any.
void Mutator::change_field(bpf_insn& insn) {
    static constexpr uint8_t classes[] = {BPF_ALU, BPF_ALU64, BPF_JMP, BPF_JMP32, BPF_LDX, BPF_ST, BPF_STX};
    const uint8_t form = kpl_insn_forms[insn.code];
    const bool any = one_in(10);
    auto is = [&](std::initializer_list<int> forms) {
        return any || std::find(forms.begin(), forms.end(), form) != forms.end();
    };
    switch (below(6)) {
        case 0:
            if (!is({KPL_F_JA, KPL_F_CALL, KPL_F_EXIT})) insn.dst_reg = below(16) & 15;
            return;
        case 1:
            if (is({KPL_F_ALU_X, KPL_F_LDX, KPL_F_STX, KPL_F_JCC_X})) insn.src_reg = below(16) & 15;
            return;
        case 2:
            if (is({KPL_F_LDX, KPL_F_ST, KPL_F_STX, KPL_F_JA, KPL_F_JCC_K, KPL_F_JCC_X}))
                insn.off = static_cast<int16_t>(
                    one_in(3) ? number() : insn.off + (jumps(insn) ? 1 : 8) * (static_cast<int>(below(5)) - 2));
            return;
        case 3:
            if (is({KPL_F_ALU_K, KPL_F_SWAP, KPL_F_ST, KPL_F_LD64, KPL_F_JCC_K})) insn.imm = number();
            if (form == KPL_F_CALL) insn.imm = static_cast<int32_t>(below(KPL_H_END_));
            return;
        case 4: insn.code = static_cast<uint8_t>((insn.code & 0xf8) | classes[below(std::size(classes))]); return;
        default: insn.code = static_cast<uint8_t>(insn.code ^ (any ? random_() : 1u << (3 + below(5))));
    }
}

void Mutator::change_label(rows::Row& row) {
    kpl_label& label = row.code.labels[below(row.code.labels.size())];
    size_t reg = below(9);
    switch (below(6)) {
        case 0: label.type[reg] = static_cast<uint8_t>(below(KPL_T_END_)); return;
        case 1: label.off[reg] = number(); return;
        case 2: label.stack ^= 1ull << below(8); return;
        case 3:
            label.rec_size = static_cast<uint16_t>(8 * below(5));
            label.rec_pending ^= 1;
            return;
        case 4: label.pc = static_cast<uint32_t>(below(row.code.insns.size())); return;
        default: label.type[reg] = KPL_T_NONE; label.off[reg] = 0;
    }
}

// Jumps and labels keep their targets.
void Mutator::insert(rows::Row& row, size_t at, const std::vector<bpf_insn>& insns) {
    auto& all = row.code.insns;
    auto n = static_cast<int>(insns.size());
    for (size_t pc = 0; pc < all.size(); pc++) {
        auto target = static_cast<ptrdiff_t>(pc) + 1 + all[pc].off;
        if (!jumps(all[pc])) continue;
        if (pc < at && target > static_cast<ptrdiff_t>(at)) all[pc].off = static_cast<int16_t>(all[pc].off + n);
        if (pc >= at && target <= static_cast<ptrdiff_t>(at)) all[pc].off = static_cast<int16_t>(all[pc].off - n);
    }
    all.insert(all.begin() + static_cast<ptrdiff_t>(at), insns.begin(), insns.end());
    for (kpl_label& label : row.code.labels)
        if (label.pc > at) label.pc += static_cast<uint32_t>(n);
}

void Mutator::erase(rows::Row& row, size_t at, size_t n) {
    auto& all = row.code.insns;
    n = std::min(n, all.size() - at);
    auto count = static_cast<int>(n);
    for (size_t pc = 0; pc < all.size(); pc++) {
        auto target = static_cast<ptrdiff_t>(pc) + 1 + all[pc].off;
        if (!jumps(all[pc])) continue;
        if (pc < at && target > static_cast<ptrdiff_t>(at)) all[pc].off = static_cast<int16_t>(all[pc].off - count);
        if (pc >= at + n && target <= static_cast<ptrdiff_t>(at))
            all[pc].off = static_cast<int16_t>(all[pc].off + count);
    }
    all.erase(all.begin() + static_cast<ptrdiff_t>(at), all.begin() + static_cast<ptrdiff_t>(at + n));
    for (kpl_label& label : row.code.labels)
        if (label.pc > at) label.pc -= static_cast<uint32_t>(std::min<size_t>(n, label.pc - at));
}

}  // namespace kpl::fuzz
