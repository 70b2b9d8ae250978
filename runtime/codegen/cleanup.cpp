// SPDX-License-Identifier: MIT
#include "codegen/cleanup.hpp"

#include <algorithm>
#include <map>

namespace kpl {

using mir::Inst;
using mir::Kind;
using mir::Reg;

void remove_dead(mir::Function& function) {
    for (bool changed = true; changed;) {
        std::vector<bool> read(function.vregs.size());
        for (const mir::Block& block : function.blocks)
            for (const Inst& inst : block.insts)
                mir::for_each_use(inst, [&](const Reg& reg) {
                    bool updates = &reg == &inst.dst;
                    if (mir::is_virtual(reg) && !updates) read[reg - mir::first_virtual] = true;
                });
        changed = false;
        for (mir::Block& block : function.blocks)
            changed |=
                std::erase_if(block.insts, [&](const Inst& inst) {
                    return mir::is_pure(inst) && mir::is_virtual(inst.dst) && !read[inst.dst - mir::first_virtual];
                }) > 0;
    }
}

namespace {

// What registers and spill slots hold within one block: equal names are equal values.
class Known {
  public:
    using Name = uint32_t;
    using Cell = uint32_t;  // a register, or first_slot + slot
    static constexpr Cell first_slot = mir::frame + 1;

    Name at(Cell cell) {
        if (cell >= names_.size()) names_.resize(cell + 1, 0);
        if (!names_[cell]) names_[cell] = ++last_;
        return names_[cell];
    }
    void set(Cell cell, Name name) {
        at(cell);
        names_[cell] = name;
    }
    void forget(Cell cell) { set(cell, ++last_); }
    Name constant(int64_t value) {
        Name& name = constants_[value];
        if (!name) name = ++last_;
        return name;
    }
    // A register with that value, or no_reg.
    Reg holder(Name name) {
        for (Reg reg = 0; reg < mir::frame; reg++)
            if (at(reg) == name) return reg;
        return mir::no_reg;
    }

  private:
    std::vector<Name> names_;
    std::map<int64_t, Name> constants_;
    Name last_ = 0;
};

// Follows one instruction; true if it changes nothing.
bool follow(Inst& inst, Known& known) {
    auto assign = [&](Known::Cell cell, Known::Name name) {
        bool same = known.at(cell) == name;
        known.set(cell, name);
        return same;
    };
    const Known::Cell slot = Known::first_slot + inst.off;
    switch (inst.kind) {
        case Kind::Mov: return assign(inst.dst, known.at(inst.a));
        case Kind::MovImm: return assign(inst.dst, known.constant(inst.imm));
        case Kind::Spill: return assign(slot, inst.b == mir::no_reg ? known.constant(inst.imm) : known.at(inst.b));
        case Kind::Reload: {
            Known::Name name = known.at(slot);
            Reg holder = known.holder(name);
            if (holder != mir::no_reg) inst = {.kind = Kind::Mov, .dst = inst.dst, .a = holder, .note = inst.note};
            return assign(inst.dst, name);
        }
        case Kind::Call:
            for (Reg reg = 0; reg <= 5; reg++) known.forget(reg);
            return false;
        default:
            if (inst.dst != mir::no_reg) known.forget(inst.dst);
            return false;
    }
}

}  // namespace

void remove_redundant_copies(mir::Function& function) {
    for (mir::Block& block : function.blocks) {
        Known known;
        std::erase_if(block.insts, [&](Inst& inst) { return follow(inst, known); });
    }
}

void thread_jumps(mir::Function& function) {
    std::vector<uint32_t> position(function.blocks.size());
    for (size_t i = 0; i < function.layout.size(); i++) position[function.layout[i]] = i;
    std::vector<bool> looped(function.blocks.size());
    for (mir::BlockId id : function.layout)
        mir::for_each_successor(function.blocks[id], [&](mir::BlockId to) {
            if (position[to] <= position[id]) looped[to] = true;
        });

    std::vector<mir::BlockId> leads_to(function.blocks.size());
    for (size_t i = function.layout.size(); i-- > 0;) {
        mir::BlockId id = function.layout[i];
        const mir::Block& block = function.blocks[id];
        bool empty = i > 0 && block.insts.size() == 1 && block.insts[0].kind == Kind::Jump && !looped[id] &&
                     position[block.insts[0].yes] > i;
        leads_to[id] = empty ? leads_to[block.insts[0].yes] : id;
    }
    for (mir::BlockId id : function.layout) {
        Inst& end = function.blocks[id].insts.back();
        if (end.kind == Kind::Branch) end.no = leads_to[end.no];
        if (end.kind == Kind::Branch || end.kind == Kind::Jump) end.yes = leads_to[end.yes];
        if (end.kind == Kind::Branch && end.yes == end.no) end = {.kind = Kind::Jump, .yes = end.yes, .note = end.note};
    }
    std::erase_if(function.layout, [&](mir::BlockId id) { return leads_to[id] != id; });
}

}  // namespace kpl
