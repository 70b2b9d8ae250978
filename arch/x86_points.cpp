// SPDX-License-Identifier: MIT
// The rules of kernel/kprobes.c (check_kprobe_address_safe) and arch/x86/kernel/kprobes: can_probe,
// can_boost, prepare_emulation, can_optimize and copy_optimized_instructions. Where the documentation and the
// code differ, the code counts: a jump to the byte behind the region hinders optimization, too.
#include <algorithm>
#include <cstring>

#include "arch/rows.hpp"
#include "arch/x86_insn.hpp"

namespace kpl {
namespace {

constexpr uint64_t jump_size = 5, call_size = 5, nop_size = 5, endbr_size = 4;
constexpr uint8_t elided_lock = 0x3e;
constexpr size_t slot_size = 15;  // MAX_INSN_SIZE

// twobyte_is_boostable, a bit for each second opcode byte, the lowest first.
constexpr uint16_t two_byte_boostable[16] = {
    0x034c, 0x8000, 0x000f, 0x0002, 0xffff, 0x0000, 0xcfff, 0xc0f0,
    0x0000, 0xffff, 0xbb3b, 0xf8ff, 0xff03, 0xbb2e, 0xbb26, 0x772e,
};

struct Decoded {
    uint64_t addr = 0;
    X86Insn insn;
    bool good = false;
    uint64_t end() const { return addr + insn.length; }
};

// Linear, as the kernel does it. What can't be decoded counts as one byte, and ends what can be known.
std::vector<Decoded> decode(const FunctionFacts& facts) {
    std::vector<Decoded> out;
    for (uint64_t at = 0; at < facts.size;) {
        Decoded one{facts.addr + at, {}, true};
        auto insn = at < facts.code.size() ? decode_x86(facts.code.subspan(at)) : std::nullopt;
        if (insn)
            one.insn = *insn;
        else
            one.good = false, one.insn.length = 1;
        at += one.insn.length;
        out.push_back(one);
    }
    return out;
}

bool is_endbr(std::span<const uint8_t> code) {
    // endbr64, endbr32, and what the kernel puts in the place of one that nothing needs.
    static constexpr uint8_t forms[][endbr_size] = {
        {0xf3, 0x0f, 0x1e, 0xfa}, {0xf3, 0x0f, 0x1e, 0xfb}, {0x66, 0x0f, 0x1f, 0x00}, {0x0f, 0x1f, 0x40, 0xd6}};
    return code.size() >= endbr_size && std::any_of(std::begin(forms), std::end(forms), [&](const auto& form) {
               return std::memcmp(code.data(), form, endbr_size) == 0;
           });
}

bool is_relative(const X86Insn& i) {
    if (i.opcode_bytes == 2 && i.opcode[0] == 0x0f) return (i.opcode[1] & 0xf0) == 0x80;
    const uint8_t op = i.opcode[0];
    return i.opcode_bytes == 1 &&
           ((op & 0xf0) == 0x70 || (op >= 0xe0 && op <= 0xe3) || op == 0xe8 || op == 0xe9 || op == 0xeb);
}

// Where insn_jump_into_range() believes it jumps: by the opcode byte alone, so that some AVX instructions
// count.
std::optional<uint64_t> jump_target(const Decoded& d) {
    if (!is_relative(d.insn) || d.insn.is(0xe8)) return std::nullopt;
    return d.end() + static_cast<uint64_t>(int64_t{d.insn.immediate});
}

Why group_boost(const X86Insn& i, bool boosts_groups) {
    const unsigned reg = i.reg();
    switch (i.opcode[0]) {
        case 0xc0:
        case 0xc1:
        case 0xd0:
        case 0xd1:
        case 0xd2:
        case 0xd3: return boosts_groups && reg != 6 ? Why::none : Why::opcode;
        case 0xf6:
        case 0xf7: return boosts_groups && reg != 1 ? Why::none : Why::opcode;
        case 0xfe: return boosts_groups && reg <= 1 ? Why::none : Why::opcode;
        default: return reg == 4 || (boosts_groups && reg <= 1) ? Why::none : Why::opcode;
    }
}

// can_boost(), but for the exception table.
Why boost(const X86Insn& i, const KernelRules& rules) {
    if (is_relative(i)) return Why::relative;
    if (i.opcode_bytes == 2)
        return two_byte_boostable[i.opcode[1] >> 4] >> (i.opcode[1] & 15) & 1 ? Why::none : Why::opcode;
    if (i.opcode_bytes != 1) return Why::opcode;
    if (i.cs_prefix || i.address_prefix) return Why::prefix;
    const uint8_t op = i.opcode[0];
    switch (op) {
        case 0x62:
        case 0x9a:
        case 0xcc:
        case 0xcd:
        case 0xce:
        case 0xd6:
        case 0xf4: return Why::opcode;
        case 0xc0:
        case 0xc1:
        case 0xd0:
        case 0xd1:
        case 0xd2:
        case 0xd3:
        case 0xf6:
        case 0xf7:
        case 0xfe:
        case 0xff: return group_boost(i, rules.boosts_groups);
        default: return (op >= 0xd8 && op <= 0xdf) || (op >= 0xf0 && op <= 0xf3) ? Why::opcode : Why::none;
    }
}

bool is_trap(const X86Insn& i) {
    if (i.opcode[0] == 0x0f) return i.opcode[1] == 0xff || i.opcode[1] == 0xb9 || i.opcode[1] == 0x0b;
    return i.opcode[0] == 0xcd || i.opcode[0] == 0xce || i.opcode[0] == 0xf1;
}

// As in the module's rule (kmod/place.c), which decodes no more.
std::span<const uint8_t> behind_prefixes(std::span<const uint8_t> code) {
    static constexpr uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3};
    while (!code.empty() && (std::ranges::find(prefixes, code[0]) != std::end(prefixes) || (code[0] & 0xf0) == 0x40))
        code = code.subspan(1);
    return code;
}

// Its opcode: "hlt" or "mwait".
bool waits(std::span<const uint8_t> opcode) {
    static constexpr uint8_t mwait[] = {0x0f, 0x01, 0xc9};
    return (!opcode.empty() && opcode[0] == 0xf4) ||
           (opcode.size() >= std::size(mwait) && std::memcmp(opcode.data(), mwait, std::size(mwait)) == 0);
}

// What kprobes neither steps nor emulates as the processor would.
bool is_mishandled(std::span<const uint8_t> code) {
    const auto opcode = behind_prefixes(code);
    if (opcode.empty()) return false;
    switch (opcode[0]) {
        case 0xc2:
        case 0xca:
        case 0xcb:
        case 0xe0:
        case 0xe1:
        case 0xe2: return true;
        case 0xfb: return waits(behind_prefixes(opcode.subspan(1)));
        default: return waits(opcode);
    }
}

// What __copy_instruction() and prepare_emulation() refuse.
Why copy(const X86Insn& i) {
    const uint8_t op = i.opcode[0];
    if (op == 0xcc) return Why::breakpoint;
    if (op == 0x17 || (op == 0x8e && i.has_modrm && i.reg() == 2)) return Why::masks_exceptions;
    if (op == 0x9a || op == 0xea || op == 0xcf) return Why::not_emulated;
    if (op == 0x0f && i.opcode_bytes == 2 && i.opcode[1] == 0x01 && i.reg() == 0 && i.mod() == 3)
        return Why::not_emulated;
    if (op == 0xff && i.reg() >= 2 && i.reg() <= 5)
        return i.reg() == 3 || i.reg() == 5 || i.mod() != 3 || i.address_prefix ? Why::not_emulated : Why::none;
    return Why::none;
}

class Analysis {
  public:
    explicit Analysis(const FunctionFacts& facts) : facts_(facts), insns_(decode(facts)) {
        for (const Decoded& d : insns_) {
            if (const auto target = d.good ? jump_target(d) : std::nullopt) jumps_.push_back({*target, d.addr});
            sets_direction_ |= d.good && d.insn.opcode[0] == 0xfd;
        }
        std::sort(jumps_.begin(), jumps_.end());
        const uint64_t entry = is_endbr(facts.code) ? endbr_size : 0;
        if (entry) landing_ = facts.addr;
        if (facts.traceable && is_ftrace_site(entry)) sites_.push_back(facts.addr + entry);
        for (const uint64_t site : facts.more_sites)
            if (is_ftrace_site(site - facts.addr)) sites_.push_back(site);
        whole_ = whole_function();
    }

    std::vector<ProbePoint> points() const {
        std::vector<ProbePoint> out;
        bool known = true;
        for (size_t i = 0; i < insns_.size(); i++) {
            known &= insns_[i].good;
            out.push_back(point(i, known));
        }
        if (landing_ && out.size() > 1) {
            out[0] = {out[0].addr,  out[0].length, out[1].addr,    out[1].ftrace,
                      out[1].probe, out[1].boost,  out[1].optimize};
        }
        return out;
    }

  private:
    // The nop of the compiler's call to __fentry__, or the call that a tracer has put there.
    bool is_ftrace_site(uint64_t entry) const {
        if (entry + nop_size > facts_.code.size()) return false;
        if (has(facts_.jump_labels, facts_.addr + entry) || has(facts_.static_calls, facts_.addr + entry)) return false;
        const uint8_t* at = facts_.code.data() + entry;
        return is_nop(facts_.addr + entry) || (facts_.traced && at[0] == 0xe8);
    }

    // What of can_optimize() is the same for all points.
    Verdict whole_function() const {
        if (!facts_.rules.optprobes) return {Why::no_optprobes};
        for (const Decoded& d : insns_) {
            if (has(facts_.fixups, d.addr)) return {Why::function_fixup, d.addr};
            if (!d.good) return {Why::function_undecoded, d.addr};
            if (facts_.rules.jump_tables && is_indirect_jump(d)) return {Why::indirect_jump, d.addr};
        }
        return {};
    }

    bool is_indirect_jump(const Decoded& d) const {
        if (d.insn.opcode[0] == 0xff && (d.insn.reg() & 6) == 4) return true;
        const auto target = jump_target(d);
        return target && *target >= facts_.rules.thunks.begin && *target <= facts_.rules.thunks.end &&
               facts_.rules.thunks.end;
    }

    ProbePoint point(size_t i, bool known) const {
        const Decoded& d = insns_[i];
        ProbePoint p{d.addr, d.insn.length, {}, has(sites_, d.addr), {}, {}, {}};
        p.probe.why = known ? stand(d) : Why::undecoded;
        p.boost.why = !known ? Why::undecoded : boostable(d);
        if (p.boost.yes() && d.insn.length + jump_size > slot_size) p.boost.why = Why::too_long;
        if (p.boost.yes()) p.boost = from_elsewhere(d.addr);
        if (p.ftrace)
            p.boost = p.optimize = {Why::by_ftrace};
        else
            p.optimize = p.probe.yes() ? optimize(i) : p.probe;
        return p;
    }

    Why stand(const Decoded& d) const {
        if (has(sites_, d.addr)) return blacklisted(d.addr);
        if (const Why why = blacklisted(d.addr); why != Why::none) return why;
        if (facts_.ftrace_alone) return Why::ftrace_alone;
        if (facts_.read_over) return Why::read_over;
        if (has(facts_.jump_labels, d.addr)) return Why::jump_label;
        if (facts_.code[d.addr - facts_.addr] == elided_lock) return Why::lock_prefix;  // the module's rule
        if (reserved(facts_.static_calls, d.addr, d.addr)) return Why::static_call;
        if (has(facts_.bugs, d.addr)) return Why::bug;
        if (has(facts_.fixups, d.addr)) return Why::fixup;  // the module's rule
        if (facts_.rules.refuses_traps && is_trap(d.insn)) return Why::trap;
        if (is_mishandled(facts_.code.subspan(d.addr - facts_.addr))) return Why::mishandled;
        return copy(d.insn);
    }

    Why blacklisted(uint64_t addr) const {
        if (facts_.init_text.has(addr)) return Why::init_code;
        for (const AddressRange& range : facts_.blacklist)
            if (range.has(addr)) return Why::blacklisted;
        return Why::none;
    }

    Why boostable(const Decoded& d) const {
        return has(facts_.fixups, d.addr) ? Why::fixup : boost(d.insn, facts_.rules);
    }

    Verdict optimize(size_t i) const {
        const uint64_t addr = insns_[i].addr;
        if (!facts_.rules.optprobes) return {Why::no_optprobes};
        if (facts_.entry_text.has(addr)) return {Why::entry_text};
        if (facts_.addr + facts_.size - addr < jump_size) return {Why::near_end};
        if (!whole_.yes()) return whole_;
        const auto into = std::lower_bound(jumps_.begin(), jumps_.end(), std::pair{addr + 1, uint64_t{0}});
        if (into != jumps_.end() && into->first <= addr + jump_size) return {Why::jump_into, into->second};
        const Verdict verdict = region(i);
        return verdict.yes() ? from_elsewhere(addr) : verdict;
    }

    // The module's rules (kmod/jumps.c): what the kernel does not see. The module has a post handler there.
    Verdict from_elsewhere(uint64_t addr) const {
        if (is_nop(addr)) return {};
        const auto behind = [addr](uint64_t target) { return target > addr && target < addr + jump_size; };
        if (facts_.is_part || std::any_of(facts_.part_jumps.begin(), facts_.part_jumps.end(), behind))
            return {Why::split};
        if (sets_direction_) return {Why::backwards};
        for (const KeyJump& key : facts_.key_jumps)
            if (behind(key.target)) return {Why::key_into, key.label};
        return {};
    }

    bool is_nop(uint64_t addr) const {
        static constexpr uint8_t nop[nop_size] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
        const uint64_t at = addr - facts_.addr;
        return at + nop_size <= facts_.code.size() && std::memcmp(facts_.code.data() + at, nop, nop_size) == 0;
    }

    // copy_optimized_instructions(): whole instructions that cover the jump.
    Verdict region(size_t i) const {
        const uint64_t begin = insns_[i].addr;
        uint64_t end = begin;
        for (; i < insns_.size() && end - begin < jump_size; i++) {
            const Decoded& d = insns_[i];
            const Why why = boostable(d);
            if (why == Why::relative) return {Why::region_relative, d.addr};
            const bool copied = copy(d.insn) != Why::breakpoint && copy(d.insn) != Why::masks_exceptions;
            if (why != Why::none || !copied) return {Why::region_opcode, d.addr};
            end = d.end();
        }
        for (const uint64_t site : sites_)
            if (site < end && site + nop_size > begin) return {Why::region_ftrace, site};
        for (const uint64_t label : facts_.jump_labels)
            if (label < end && end_of(label) > begin) return {Why::region_jump_label, label};
        if (const auto at = reserved(facts_.static_calls, begin, end - 1)) return {Why::region_static_call, *at};
        for (const uint64_t probe : facts_.probes)
            if (probe > begin && probe < end) return {Why::region_probe, probe};
        return {};
    }

    uint64_t end_of(uint64_t addr) const {
        const auto after =
            std::partition_point(insns_.begin(), insns_.end(), [addr](const Decoded& d) { return d.addr <= addr; });
        return after == insns_.end() ? facts_.addr + facts_.size : after->addr;
    }
    static bool has(const std::vector<uint64_t>& list, uint64_t addr) {
        return std::find(list.begin(), list.end(), addr) != list.end();
    }
    static std::optional<uint64_t> reserved(const std::vector<uint64_t>& calls, uint64_t first, uint64_t last) {
        for (const uint64_t call : calls)
            if (call <= last && call + call_size > first) return call;
        return std::nullopt;
    }

    const FunctionFacts& facts_;
    std::vector<Decoded> insns_;
    std::vector<std::pair<uint64_t, uint64_t>> jumps_;  // target, from
    std::optional<uint64_t> landing_;
    std::vector<uint64_t> sites_;  // of ftrace
    bool sets_direction_ = false;
    Verdict whole_;
};

}  // namespace

std::vector<ProbePoint> x86_points(const FunctionFacts& facts) { return Analysis(facts).points(); }

}  // namespace kpl
