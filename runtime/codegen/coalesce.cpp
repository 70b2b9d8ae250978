// SPDX-License-Identifier: MIT
#include <numeric>

#include "codegen/cleanup.hpp"
#include "codegen/live.hpp"

namespace kpl {

using mir::Inst;
using mir::Kind;
using mir::Reg;

namespace {

class Coalescer {
  public:
    explicit Coalescer(mir::Function& function)
        : function_(function),
          live_(find_liveness(function)),
          name_(function.vregs.size()),
          reads_(function.vregs.size()) {
        std::iota(name_.begin(), name_.end(), 0);
        for (mir::BlockId id : function_.layout)
            for (Inst& inst : function_.blocks[id].insts) count_reads(inst);
    }

    void run() {
        for (mir::BlockId id : function_.layout)
            for (const Inst& inst : function_.blocks[id].insts) {
                if (inst.kind != Kind::Mov || !mir::is_virtual(inst.dst) || !mir::is_virtual(inst.a)) continue;
                try_merge(find(inst.a), find(inst.dst), reads_[inst.a - mir::first_virtual]);
            }
        for (mir::BlockId id : function_.layout)
            for (Inst& inst : function_.blocks[id].insts)
                for (Reg* reg : {&inst.dst, &inst.a, &inst.b, &inst.c})
                    if (mir::is_virtual(*reg)) *reg = find(*reg) + mir::first_virtual;
    }

  private:
    void count_reads(Inst& inst) {
        mir::for_each_use(inst, [&](Reg& reg) {
            if (mir::is_virtual(reg) && &reg != &inst.dst) reads_[reg - mir::first_virtual]++;
        });
    }

    // The index of the register that `reg` became. Long chains get shorter by each search.
    uint32_t find(Reg reg) {
        uint32_t index = reg - mir::first_virtual;
        for (; name_[index] != index; index = name_[index]) name_[index] = name_[name_[index]];
        return index;
    }

    // A value that lives across a call is not joined with one that does not, which would then go to the stack
    // too.
    void try_merge(uint32_t src, uint32_t dst, uint32_t reads) {
        if (src == dst || reads != 1) return;
        if (function_.vregs[src].holds != function_.vregs[dst].holds) return;
        LiveRange& from = live_.ranges[src];
        LiveRange& to = live_.ranges[dst];
        if (from.overlaps(to)) return;
        if (from.overlaps(live_.calls) && !to.overlaps(live_.calls)) return;
        to.merge(from);
        name_[src] = dst;
    }

    mir::Function& function_;
    Liveness live_;
    std::vector<uint32_t> name_;   // by virtual register: the one it became
    std::vector<uint32_t> reads_;  // but those of instructions that update it
};

}  // namespace

void coalesce(mir::Function& function) { Coalescer(function).run(); }

}  // namespace kpl
