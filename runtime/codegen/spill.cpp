// SPDX-License-Identifier: MIT
#include <unordered_map>

#include "codegen/allocate.hpp"

namespace kpl {

using mir::Inst;
using mir::Kind;
using mir::Reg;

namespace {

class Spiller {
  public:
    Spiller(mir::Function& function, const std::vector<Reg>& spilled) : function_(function) {
        for (Reg reg : spilled) slots_[reg] = static_cast<int32_t>(function_.spill_slots++);
    }

    void run() {
        for (mir::Block& block : function_.blocks) {
            out_.clear();
            for (Inst& inst : block.insts) rewrite(inst);
            block.insts.swap(out_);
        }
    }

  private:
    // The slot of a register, or -1.
    int32_t slot(Reg reg) const {
        auto found = slots_.find(reg);
        return found == slots_.end() ? -1 : found->second;
    }

    // A register for one access, which is never spilled itself.
    Reg temporary() {
        Reg reg = function_.new_vreg();
        function_.vreg(reg).spillable = false;
        return reg;
    }

    void reload(Reg reg, int32_t slot, uint32_t note) {
        out_.push_back({.kind = Kind::Reload, .dst = reg, .off = slot, .note = note});
    }

    // Copies between a register and memory are one instruction.
    bool rewrite_copy(const Inst& inst) {
        int32_t to = slot(inst.dst);
        if (inst.kind == Kind::Mov) {
            int32_t from = slot(inst.a);
            if (from < 0 && to < 0) return false;
            Reg reg = from < 0 ? inst.a : to < 0 ? inst.dst : temporary();
            if (from >= 0) reload(reg, from, inst.note);
            if (to >= 0) out_.push_back({.kind = Kind::Spill, .b = reg, .off = to, .note = inst.note});
            return true;
        }
        if (inst.kind != Kind::MovImm || to < 0 || !mir::fits_s32(inst.imm)) return false;
        out_.push_back({.kind = Kind::Spill, .off = to, .imm = inst.imm, .note = inst.note});
        return true;
    }

    void rewrite(Inst inst) {
        if (rewrite_copy(inst)) return;
        const int32_t result = slot(inst.dst);
        std::vector<std::pair<Reg, Reg>> loaded;
        mir::for_each_use(inst, [&](Reg& reg) {
            int32_t from = slot(reg);
            if (from < 0) return;
            for (auto [old, temp] : loaded) {
                if (old != reg) continue;
                reg = temp;
                return;
            }
            Reg temp = temporary();
            reload(temp, from, inst.note);
            loaded.push_back({reg, temp});
            reg = temp;
        });
        if (result >= 0 && !mir::reads_dst(inst)) inst.dst = temporary();
        out_.push_back(inst);
        if (result >= 0) out_.push_back({.kind = Kind::Spill, .b = inst.dst, .off = result, .note = inst.note});
    }

    mir::Function& function_;
    std::unordered_map<Reg, int32_t> slots_;
    std::vector<Inst> out_;
};

}  // namespace

void spill(mir::Function& function, const std::vector<Reg>& spilled) { Spiller(function, spilled).run(); }

}  // namespace kpl
