// SPDX-License-Identifier: MIT
#include <algorithm>
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
            for (size_t i = 0; i < block.insts.size(); i++) {
                const Inst& inst = block.insts[i];
                rewrite(inst, i + 1 < block.insts.size() && mir::continues(inst, block.insts[i + 1]));
            }
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
            if (to >= 0) store(to, reg, inst.note);
            return true;
        }
        if (inst.kind != Kind::MovImm || to < 0 || !mir::fits_s32(inst.imm)) return false;
        out_.push_back({.kind = Kind::Spill, .off = to, .imm = inst.imm, .note = inst.note});
        return true;
    }

    // In a chain, the value stays in one temporary until the last step. `goes_on`: the next instruction is a
    // step too.
    void rewrite(Inst inst, bool goes_on) {
        const int32_t result = slot(inst.dst);
        goes_on = goes_on && result >= 0;
        if (!goes_on && rewrite_copy(inst)) return;
        const Reg whole = inst.dst;
        std::vector<std::pair<Reg, Reg>> loaded;
        if (in_chain_ != mir::no_reg) loaded.push_back({whole, in_chain_});
        mir::for_each_use(inst, [&](Reg& reg) {
            int32_t from = slot(reg);
            if (from < 0) return;
            auto known = std::find_if(loaded.begin(), loaded.end(), [&](auto& pair) { return pair.first == reg; });
            if (known == loaded.end()) {
                loaded.push_back({reg, temporary()});
                known = loaded.end() - 1;
                reload(known->second, from, inst.note);
            }
            reg = known->second;
        });
        if (result >= 0 && !mir::reads_dst(inst)) inst.dst = temporary();
        out_.push_back(inst);
        in_chain_ = goes_on ? inst.dst : mir::no_reg;
        if (result >= 0 && !goes_on) store(result, inst.dst, inst.note);
    }

    void store(int32_t slot, Reg reg, uint32_t note) {
        out_.push_back({.kind = Kind::Spill, .b = reg, .off = slot, .note = note});
    }

    mir::Function& function_;
    std::unordered_map<Reg, int32_t> slots_;
    std::vector<Inst> out_;
    Reg in_chain_ = mir::no_reg;  // the temporary of the chain that goes on
};

}  // namespace

void spill(mir::Function& function, const std::vector<Reg>& spilled) { Spiller(function, spilled).run(); }

}  // namespace kpl
