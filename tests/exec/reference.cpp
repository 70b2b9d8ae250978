// SPDX-License-Identifier: MIT
#include "reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

#include "uapi/kprobe_lua.h"

namespace kpl::exec {

namespace {

constexpr uint64_t most_steps = 4'000'000;
constexpr int sign_extending = 0x80;
// Where things seem to lie: far from each other, so that no wrong sum of addresses meets another one.
constexpr uint64_t hit_at = 0x1000'0000'0000, data_at = 0x2000'0000'0000, stack_top = 0x3000'0000'0000,
                   regs_at = 0x4000'0000'0000;
constexpr uint64_t stack_size = 512;
constexpr uint64_t stack_distance = 0x1'0000;     // from a caller's to that of what it calls
constexpr uint64_t lost = 0xdead'dead'dead'dead;  // what a call leaves in r1 to r5

class Machine {
  public:
    Machine(std::span<const bpf_insn> insns, std::vector<uint8_t>& data, std::span<const uint64_t> regs,
            std::span<const uint32_t> origin)
        : insns_(insns), data_(data), origin_(origin) {
        std::copy_n(regs.begin(), std::min(regs.size(), regs_.size()), regs_.begin());
        r_[1] = hit_at;
        r_[10] = stack_top;
    }

    void starts_with(bool context) {
        size_t reg = 1;
        if (context) r_[reg++] = regs_at;
        r_[reg++] = data_.empty() ? 0 : data_at;
        r_[reg] = data_.size();
    }

    Result<uint64_t> run() {
        for (uint64_t steps = 0; steps < most_steps; steps++) {
            if (pc_ >= insns_.size()) return wrong("control left the program", pc_);
            const size_t pc = pc_++;
            if (insns_[pc].code == (BPF_JMP | BPF_EXIT)) {
                if (callers_.empty()) return r_[0];
                back();
                continue;
            }
            if (!step(insns_[pc]))
                return wrong("no instruction of RFC 9669, a helper that the reference lacks, or a bad access", pc);
        }
        return wrong("no end", pc_);
    }

  private:
    Error wrong(const char* what, size_t pc) const {
        return {Errc::script, fmt::format("reference: {} at {}", what, pc < origin_.size() ? origin_[pc] : pc)};
    }

    bool step(const bpf_insn& insn) {
        switch (insn.code & 7) {
            case BPF_LD: return load_wide(insn);
            case BPF_LDX: return load(insn);
            case BPF_ST: return store(insn, static_cast<uint64_t>(int64_t{insn.imm}));
            case BPF_STX: return BPF_MODE(insn.code) == BPF_ATOMIC ? atomic(insn) : store(insn, r_[insn.src_reg]);
            case BPF_ALU: return compute32(insn);
            case BPF_ALU64: return compute64(insn);
            default: return jump(insn);
        }
    }

    static size_t width(const bpf_insn& insn) {
        switch (insn.code & 0x18) {
            case BPF_B: return 1;
            case BPF_H: return 2;
            case BPF_W: return 4;
            default: return 8;
        }
    }

    uint8_t* memory(uint64_t address, size_t size) {
        if (address >= data_at && address - data_at + size <= data_.size()) return data_.data() + (address - data_at);
        for (size_t i = 0; i <= callers_.size(); i++) {
            const uint64_t bottom = stack_top - i * stack_distance - stack_size;
            if (address >= bottom && address - bottom + size <= stack_size)
                return stacks_[i].data() + (address - bottom);
        }
        return nullptr;
    }

    bool load_wide(const bpf_insn& insn) {
        if (insn.code != (BPF_LD | BPF_IMM | BPF_DW) || insn.src_reg || pc_ >= insns_.size()) return false;
        const uint64_t high = static_cast<uint32_t>(insns_[pc_++].imm);
        r_[insn.dst_reg] = high << 32 | static_cast<uint32_t>(insn.imm);
        return true;
    }

    // The lower bits, as a number with a sign.
    static uint64_t extended(uint64_t value, size_t bits) {
        const uint64_t sign = uint64_t{1} << (bits - 1);
        const uint64_t low = bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
        return (low ^ sign) - sign;
    }

    bool load(const bpf_insn& insn) {
        const bool sign = BPF_MODE(insn.code) == sign_extending;
        if (BPF_MODE(insn.code) != BPF_MEM && !(sign && width(insn) < 8)) return false;
        const uint64_t address = r_[insn.src_reg] + static_cast<uint64_t>(int64_t{insn.off});
        if (address == hit_at + offsetof(kpl_hit, data) && width(insn) == 8) {
            r_[insn.dst_reg] = data_at;
            return true;
        }
        if (address == hit_at + offsetof(kpl_hit, regs) && width(insn) == 8) {
            r_[insn.dst_reg] = regs_at;
            return true;
        }
        if (address >= regs_at && address < regs_at + sizeof regs_) {
            if (width(insn) != 8 || address % 8) return false;
            r_[insn.dst_reg] = regs_[(address - regs_at) / 8];
            return true;
        }
        const uint8_t* from = memory(address, width(insn));
        if (!from) return false;
        uint64_t value = 0;
        for (size_t i = width(insn); i-- > 0;) value = value << 8 | from[i];
        r_[insn.dst_reg] = sign ? extended(value, width(insn) * 8) : value;
        return true;
    }

    bool atomic(const bpf_insn& insn) {
        const size_t size = width(insn);
        uint8_t* at = memory(r_[insn.dst_reg] + static_cast<uint64_t>(int64_t{insn.off}), size);
        if (!at || size < 4) return false;
        uint64_t old = 0;
        std::memcpy(&old, at, size);
        const uint64_t operand = size == 4 ? static_cast<uint32_t>(r_[insn.src_reg]) : r_[insn.src_reg];
        const uint64_t compared = size == 4 ? static_cast<uint32_t>(r_[0]) : r_[0];
        uint64_t next = 0;
        switch (insn.imm & ~BPF_FETCH) {
            case BPF_ADD: next = old + operand; break;
            case BPF_OR: next = old | operand; break;
            case BPF_AND: next = old & operand; break;
            case BPF_XOR: next = old ^ operand; break;
            case BPF_XCHG & ~BPF_FETCH: next = operand; break;
            case BPF_CMPXCHG & ~BPF_FETCH: next = old == compared ? operand : old; break;
            default: return false;
        }
        std::memcpy(at, &next, size);
        if (insn.imm == BPF_CMPXCHG)
            r_[0] = old;
        else if (insn.imm & BPF_FETCH)
            r_[insn.src_reg] = old;
        return true;
    }

    // By divisors with a sign: -1 is the one whose quotient may not fit.
    static std::optional<uint64_t> divided(const bpf_insn& insn, int64_t a, int64_t b) {
        switch (insn.code & 0xf0) {
            case BPF_DIV: return b == -1 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(b ? a / b : 0);
            case BPF_MOD: return b == -1 ? 0 : static_cast<uint64_t>(b ? a % b : a);
            default: return std::nullopt;
        }
    }

    // What `off` makes of a move or a division; both in 64 bits, for the caller to cut.
    static std::optional<uint64_t> with_sign(const bpf_insn& insn, uint64_t a, uint64_t b, size_t bits) {
        if ((insn.code & 0xf0) == BPF_MOV) {
            if (insn.off != 8 && insn.off != 16 && !(insn.off == 32 && bits == 64)) return std::nullopt;
            return extended(b, static_cast<size_t>(insn.off));
        }
        if (insn.off != 1) return std::nullopt;
        return divided(insn, static_cast<int64_t>(extended(a, bits)), static_cast<int64_t>(extended(b, bits)));
    }

    bool store(const bpf_insn& insn, uint64_t value) {
        if ((insn.code & 0xe0) != BPF_MEM) return false;
        uint8_t* to = memory(r_[insn.dst_reg] + static_cast<uint64_t>(int64_t{insn.off}), width(insn));
        if (!to) return false;
        for (size_t i = 0; i < width(insn); i++) to[i] = static_cast<uint8_t>(value >> (8 * i));
        return true;
    }

    bool compute64(const bpf_insn& insn) {
        const uint64_t b = insn.code & BPF_X ? r_[insn.src_reg] : static_cast<uint64_t>(int64_t{insn.imm});
        uint64_t& a = r_[insn.dst_reg];
        if ((insn.code & 0xf0) == BPF_END) return insn.code == (BPF_ALU64 | BPF_END) && swap(insn, true);
        if (insn.off) {
            const auto value = with_sign(insn, a, b, 64);
            a = value.value_or(0);
            return value.has_value();
        }
        switch (insn.code & 0xf0) {
            case BPF_ADD: a += b; return true;
            case BPF_SUB: a -= b; return true;
            case BPF_MUL: a *= b; return true;
            case BPF_DIV: a = b ? a / b : 0; return true;
            case BPF_OR: a |= b; return true;
            case BPF_AND: a &= b; return true;
            case BPF_LSH: a <<= b % 64; return true;
            case BPF_RSH: a >>= b % 64; return true;
            case BPF_NEG: a = 0 - a; return true;
            case BPF_MOD: a = b ? a % b : a; return true;
            case BPF_XOR: a ^= b; return true;
            case BPF_MOV: a = b; return true;
            case BPF_ARSH: a = static_cast<uint64_t>(static_cast<int64_t>(a) >> b % 64); return true;
            default: return false;
        }
    }

    bool compute32(const bpf_insn& insn) {
        if ((insn.code & 0xf0) == BPF_END) return swap(insn, insn.code & BPF_TO_BE);
        const auto b = static_cast<uint32_t>(insn.code & BPF_X ? r_[insn.src_reg] : insn.imm);
        auto a = static_cast<uint32_t>(r_[insn.dst_reg]);
        if (insn.off) {
            const auto value = with_sign(insn, a, b, 32);
            r_[insn.dst_reg] = static_cast<uint32_t>(value.value_or(0));
            return value.has_value();
        }
        switch (insn.code & 0xf0) {
            case BPF_ADD: a += b; break;
            case BPF_SUB: a -= b; break;
            case BPF_MUL: a *= b; break;
            case BPF_DIV: a = b ? a / b : 0; break;
            case BPF_OR: a |= b; break;
            case BPF_AND: a &= b; break;
            case BPF_LSH: a <<= b % 32; break;
            case BPF_RSH: a >>= b % 32; break;
            case BPF_NEG: a = 0 - a; break;
            case BPF_MOD: a = b ? a % b : a; break;
            case BPF_XOR: a ^= b; break;
            case BPF_MOV: a = b; break;
            case BPF_ARSH: a = static_cast<uint32_t>(static_cast<int32_t>(a) >> b % 32); break;
            default: return false;
        }
        r_[insn.dst_reg] = a;
        return true;
    }

    // `le`, `be` and `bswap`, on a little-endian machine: cut to the width, and turn round but for `le`.
    bool swap(const bpf_insn& insn, bool turn) {
        if (insn.imm != 16 && insn.imm != 32 && insn.imm != 64) return false;
        const auto bytes = static_cast<unsigned>(insn.imm) / 8;
        const uint64_t from = r_[insn.dst_reg];
        uint64_t to = 0;
        for (unsigned i = 0; i < bytes; i++) {
            const uint64_t byte = from >> (8 * i) & 0xff;
            to |= byte << 8 * (turn ? bytes - 1 - i : i);
        }
        r_[insn.dst_reg] = to;
        return true;
    }

    // The text of a struct kpl_str, of up to `limit` bytes; none: it may not be read.
    std::optional<std::string_view> text(uint64_t at, uint64_t limit) {
        const uint8_t* header = memory(at, KPL_STR_SIZE(limit));
        if (limit > KPL_MAX_STR || !header) return std::nullopt;
        uint32_t length = 0;
        std::memcpy(&length, header, sizeof length);
        const auto* bytes = reinterpret_cast<const char*>(header + sizeof(kpl_str));
        return std::string_view(bytes, std::min<uint64_t>(length, limit));
    }

    // Of helpers, those that work on their arguments alone.
    std::optional<uint64_t> call(int32_t helper) {
        const auto a = static_cast<int64_t>(r_[1]), b = static_cast<int64_t>(r_[2]);
        switch (helper) {
            case KPL_H_sdiv: return b == -1 ? 0 - r_[1] : static_cast<uint64_t>(b ? a / b : 0);
            case KPL_H_smod: return b == -1 ? 0 : static_cast<uint64_t>(b ? a % b : a);
            case KPL_H_str_eq:
            case KPL_H_str_starts: {
                const auto left = text(r_[1], r_[2]), right = text(r_[3], r_[4]);
                if (!left || !right) return std::nullopt;
                return helper == KPL_H_str_eq ? *left == *right : left->starts_with(*right);
            }
            default: return std::nullopt;
        }
    }

    // r6 to r9 are the caller's.
    bool call_own(const bpf_insn& insn) {
        if (callers_.size() == most_calls) return false;
        Caller& caller = callers_.emplace_back();
        std::copy_n(r_.begin() + 6, caller.kept.size(), caller.kept.begin());
        caller.pc = pc_;
        r_[10] -= stack_distance;
        pc_ += static_cast<size_t>(int64_t{insn.imm});
        return true;
    }

    void back() {
        const Caller& caller = callers_.back();
        std::copy(caller.kept.begin(), caller.kept.end(), r_.begin() + 6);
        r_[10] += stack_distance;
        pc_ = caller.pc;
        callers_.pop_back();
    }

    bool jump(const bpf_insn& insn) {
        if (insn.code == (BPF_JMP | BPF_CALL) && insn.src_reg == 1) return call_own(insn);
        if (insn.code == (BPF_JMP | BPF_CALL)) {
            const auto result = insn.src_reg ? std::nullopt : call(insn.imm);
            r_[0] = result.value_or(0);
            for (int i = 1; i <= 5; i++) r_[i] = lost;
            return result.has_value();
        }
        const bool wide = (insn.code & 7) == BPF_JMP;
        uint64_t a = r_[insn.dst_reg];
        uint64_t b = insn.code & BPF_X ? r_[insn.src_reg] : static_cast<uint64_t>(int64_t{insn.imm});
        if (!wide) a = static_cast<uint32_t>(a), b = static_cast<uint32_t>(b);
        const auto sa = wide ? static_cast<int64_t>(a) : static_cast<int32_t>(a);
        const auto sb = wide ? static_cast<int64_t>(b) : static_cast<int32_t>(b);
        bool take = false;
        switch (insn.code & 0xf0) {
            case BPF_JA:
                pc_ += static_cast<size_t>(int64_t{wide ? insn.off : insn.imm});
                return BPF_SRC(insn.code) == BPF_K && !insn.dst_reg && !insn.src_reg && !(wide ? insn.imm : insn.off);
            case BPF_JEQ: take = a == b; break;
            case BPF_JNE: take = a != b; break;
            case BPF_JGT: take = a > b; break;
            case BPF_JGE: take = a >= b; break;
            case BPF_JLT: take = a < b; break;
            case BPF_JLE: take = a <= b; break;
            case BPF_JSET: take = (a & b) != 0; break;
            case BPF_JSGT: take = sa > sb; break;
            case BPF_JSGE: take = sa >= sb; break;
            case BPF_JSLT: take = sa < sb; break;
            case BPF_JSLE: take = sa <= sb; break;
            default: return false;
        }
        if (take) pc_ += static_cast<size_t>(int64_t{insn.off});
        return true;
    }

    std::span<const bpf_insn> insns_;
    std::vector<uint8_t>& data_;
    std::span<const uint32_t> origin_;
    std::array<uint64_t, 11> r_{};
    std::array<uint64_t, 21> regs_{};  // x86-64's
    std::array<std::array<uint8_t, stack_size>, most_calls + 1> stacks_{};
    size_t pc_ = 0;

    struct Caller {
        std::array<uint64_t, 4> kept;  // r6 to r9
        size_t pc;
    };
    std::vector<Caller> callers_;
};

}  // namespace

Result<uint64_t> run_reference(std::span<const bpf_insn> insns, std::vector<uint8_t>& data,
                               std::span<const uint64_t> regs, std::span<const uint32_t> origin) {
    return Machine(insns, data, regs, origin).run();
}

Result<uint64_t> run_given(std::span<const bpf_insn> insns, std::vector<uint8_t>& memory,
                           std::optional<std::span<const uint64_t>> context) {
    Machine machine(insns, memory, context.value_or(std::span<const uint64_t>()), {});
    machine.starts_with(context.has_value());
    return machine.run();
}

}  // namespace kpl::exec
