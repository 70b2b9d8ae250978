// SPDX-License-Identifier: MIT
#include "fuzz/accepted.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kpl::fuzz {

namespace {

bool may_differ(const bpf_insn& insn) {
    if (insn.code == (BPF_LDX | BPF_MEM | BPF_W)) return insn.off == offsetof(kpl_hit, cpu);
    if (insn.code != (BPF_JMP | BPF_CALL)) return false;
    return insn.imm != KPL_H_sdiv && insn.imm != KPL_H_smod && insn.imm != KPL_H_str_eq && insn.imm != KPL_H_str_starts;
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
    const auto& insns = row.code.insns;
    if (!out_.is_open() || known_.size() == most || !row.maps.empty() || row.scratch_size) return;
    if (std::any_of(insns.begin(), insns.end(), may_differ)) return;

    Simulator sim;
    sim.rights = row.rights;
    for (size_t i = 0; i < sim.regs.size(); i++) sim.regs[i] = i * 0x1001;
    sim.hit.func = 0x1000, sim.hit.addr = 0x1004, sim.hit.ret = 7, sim.hit.ret_addr = 0x2000;
    std::vector<uint64_t> words(row.data_size / 8);
    for (size_t i = 0; i < words.size(); i++) words[i] = (i + 1) * 0x8080'7f01'0203'0405;
    const auto* bytes = reinterpret_cast<const uint8_t*>(words.data());
    sim.data.assign(bytes, bytes + row.data_size);
    SimReject reject;
    const auto program = sim.load(row.to_load(), reject);
    if (!program) return;
    std::string text =
        fmt::format("@kind {} @data {} @budget {} @rights {}\n@hit func=0x1000 addr=0x1004 ret=7 ret_addr=0x2000\n",
                    kinds[row.kind], row.data_size, row.budget, row.rights);
    text += fmt::format("@regs{}\n@words{}\n{}", words_of(sim.regs.data(), sim.regs.size()),
                        words_of(words.data(), words.size()), disassemble(insns, row.code.labels));
    if (!known_.insert(text).second) return;
    const uint64_t r0 = sim.run(*program).r0;
    out_ << fmt::format("[{}]\n{}=> r0 {:#x} words{}\n\n", known_.size(), text, r0,
                        words_of(reinterpret_cast<const uint64_t*>(sim.data.data()), words.size()));
    out_.flush();
}

}  // namespace kpl::fuzz
