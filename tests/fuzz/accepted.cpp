// SPDX-License-Identifier: MIT
#include "fuzz/accepted.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kpl::fuzz {

namespace {

int32_t called_by(const bpf_insn& insn) { return insn.code == (BPF_JMP | BPF_CALL) ? insn.imm : -1; }

// Between one run and the next, on the same CPU.
bool may_differ(const bpf_insn& insn) {
    switch (called_by(insn)) {
        case KPL_H_now:
        case KPL_H_kstack:
        case KPL_H_ustack:
        case KPL_H_task:
        case KPL_H_user_reg:
        case KPL_H_go_to: return true;
        default: return false;
    }
}

// Between this process and the kernel, too.
bool depends_on_machine(const bpf_insn& insn) {
    if (insn.code == (BPF_LDX | BPF_MEM | BPF_W)) return insn.off == offsetof(kpl_hit, cpu);
    switch (called_by(insn)) {
        case -1:
        case KPL_H_sdiv:
        case KPL_H_smod:
        case KPL_H_str_eq:
        case KPL_H_str_starts: return false;
        default: return true;
    }
}

template <class Is>
bool has(const rows::Row& row, const Is& is) {
    return std::any_of(row.code.insns.begin(), row.code.insns.end(), is);
}

std::string words_of(const uint64_t* words, size_t n) {
    std::string text;
    for (size_t i = 0; i < n; i++) text += fmt::format(" {}={:#x}", i, words[i]);
    return text;
}

}  // namespace

void Accepted::add(const rows::Row& row) {
    static constexpr const char* kinds[] = {"pre", "post", "fault", "entry", "ret", "tracepoint", "watch"};
    static_assert(std::size(kinds) == KPL_PROG_KINDS);
    static constexpr const char* map_kinds[] = {
#define AGG(id, name, ...) #name,
#include "uapi/aggs.def"
#undef AGG
        "hash"};
    static_assert(std::size(map_kinds) == KPL_MAP_KINDS);
    if (!out_.is_open() || size_ == most) return;

    Simulator sim;
    sim.rights = row.rights;
    for (size_t i = 0; i < sim.regs.size(); i++) sim.regs[i] = i * 0x1001;
    sim.hit.func = 0x1000, sim.hit.addr = 0x1004, sim.hit.ret = 7, sim.hit.ret_addr = 0x2000;
    std::vector<uint64_t> words(row.data_size / 8);
    for (size_t i = 0; i < words.size(); i++) words[i] = (i + 1) * 0x8080'7f01'0203'0405;
    std::string text = fmt::format("@kind {} @data {} @scratch {} @budget {} @ring {} @rights {}\n", kinds[row.kind],
                                   row.data_size, row.scratch_size, row.budget, row.max_record, row.rights);
    for (const SimMap& map : row.maps)
        text += fmt::format("@map {} {} {}\n", map_kinds[map.kind], map.key_size, map.value_size);
    text += fmt::format("@hit func=0x1000 addr=0x1004 ret=7 ret_addr=0x2000\n@regs{}\n@words{}\n{}",
                        words_of(sim.regs.data(), sim.regs.size()), words_of(words.data(), words.size()),
                        disassemble(row.code.insns, row.code.labels));
    if (!known_.insert(text).second || has(row, may_differ)) return;
    if (row.max_record != 0 && row.max_record != KPL_MAX_RECORD) return;  // a ring that small can't be had

    out_ << fmt::format("[{}]\n{}", ++size_, text);
    if (!row.maps.empty() || row.scratch_size || has(row, depends_on_machine)) {
        out_ << "=> alike\n\n" << std::flush;
        return;
    }
    const auto* bytes = reinterpret_cast<const uint8_t*>(words.data());
    sim.data.assign(bytes, bytes + row.data_size);
    const auto program = sim.load(row.to_load());
    const uint64_t r0 = sim.run(program.value()).r0;
    out_ << fmt::format("=> r0 {:#x} words{}\n\n", r0,
                        words_of(reinterpret_cast<const uint64_t*>(sim.data.data()), words.size()))
         << std::flush;
}

}  // namespace kpl::fuzz
