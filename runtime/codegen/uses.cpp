// SPDX-License-Identifier: MIT
#include "codegen/uses.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "codegen/helpers.hpp"
#include "ir/visit.hpp"

namespace kpl {
namespace {

using ir::Inst;
using ir::Opcode;
using ir::ValueId;

class Finder {
  public:
    Finder(const ir::Function& function, const std::vector<uint32_t>& depth)
        : function_(function), depth_(depth), uses_(function.insts.size()) {}

    std::vector<Uses> run() {
        for (ir::BlockId id = 0; id < function_.blocks.size(); id++) {
            const ir::Block& block = function_.blocks[id];
            for (ValueId user : block.insts) scan(id, user);
            ir::for_each_terminator_use(block.end, [&](ValueId value) { add(value, {1, id, ir::no_value}); });
        }
        return std::move(uses_);
    }

  private:
    void add(ValueId value, Uses use) {
        Uses& uses = uses_[value];
        use.count = uses.count + 1;
        use.depth = std::max(uses.depth, depth_[use.block]);
        use.in_phi = use.in_phi || (uses.count && uses.in_phi);
        uses = use;
    }

    void scan(ir::BlockId id, ValueId user) {
        const Inst& inst = function_.insts[user];
        const std::vector<ir::BlockId>& preds = function_.blocks[id].preds;
        size_t pred = 0;
        ir::for_each_use(inst, [&](ValueId value) {
            bool phi = inst.op == Opcode::Phi;
            add(value, {1, phi ? preds[pred++] : id, user, phi});
        });
    }

    const ir::Function& function_;
    const std::vector<uint32_t>& depth_;
    std::vector<Uses> uses_;
};

constexpr uint32_t all_bits = 64;

uint32_t width(uint64_t value) { return std::bit_width(value); }

uint32_t bits_of(const ir::Function& function, ValueId value, int levels) {
    const Inst& inst = function.insts[value];
    if (inst.op == Opcode::Const) return width(inst.imm);
    if (levels == 0) return all_bits;
    auto arg = [&](size_t i) { return bits_of(function, inst.args[i], levels - 1); };
    switch (inst.op) {
        case Opcode::HitField: return ir::hit_field(inst.imm).size * 8u;
        case Opcode::Read:
        case Opcode::SoftRead: return static_cast<uint32_t>(inst.imm) * 8;
        case Opcode::ZExt: return std::min<uint32_t>(inst.imm, arg(0));
        case Opcode::And: return std::min(arg(0), arg(1));
        case Opcode::Or:
        case Opcode::Xor: return std::max(arg(0), arg(1));
        case Opcode::Add: return std::min(all_bits, std::max(arg(0), arg(1)) + 1);
        case Opcode::Mul: return std::min(all_bits, arg(0) + arg(1));
        case Opcode::UDiv: return arg(0);
        case Opcode::UMod: {
            const Inst& divisor = function.insts[inst.args[1]];
            bool known = divisor.op == Opcode::Const && divisor.imm != 0;  // x % 0 is x
            return known ? std::min(arg(0), width(static_cast<uint64_t>(divisor.imm) - 1)) : arg(0);
        }
        case Opcode::Shr: {
            const Inst& count = function.insts[inst.args[1]];
            if (count.op != Opcode::Const) return arg(0);
            uint32_t shift = count.imm & 63, bits = arg(0);
            return bits > shift ? bits - shift : 0;
        }
        case Opcode::Compare: return 1;
        case Opcode::Select: return std::max(arg(1), arg(2));
        case Opcode::Call: return helper_bits(inst.helper);
        default: return all_bits;
    }
}

}  // namespace

std::vector<Uses> find_uses(const ir::Function& function, const std::vector<uint32_t>& depth) {
    return Finder(function, depth).run();
}

uint32_t significant_bits(const ir::Function& function, ValueId value) { return bits_of(function, value, 6); }

}  // namespace kpl
