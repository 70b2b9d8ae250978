// SPDX-License-Identifier: MIT
#include "codegen/forward.hpp"

#include <algorithm>

#include "codegen/helpers.hpp"
#include "ir/visit.hpp"

namespace kpl {
namespace {

using ir::Inst;
using ir::Opcode;
using ir::StrRef;
using ir::ValueId;

class Forwarding {
  public:
    explicit Forwarding(ir::Function& function)
        : function_(function), slot_uses_(function.slots.size()), used_(function.insts.size()) {
        for (const ir::Block& block : function.blocks) {
            for (ValueId id : block.insts) {
                ir::for_each_slot(function.insts[id], [&](ir::SlotId slot) { slot_uses_[slot]++; });
                ir::for_each_use(function.insts[id], [&](ValueId value) { used_[value] = true; });
            }
            ir::for_each_terminator_use(block.end, [&](ValueId value) { used_[value] = true; });
        }
    }

    void run() {
        for (ir::Block& block : function_.blocks) {
            std::vector<ValueId> kept;
            for (ValueId id : block.insts)
                if (!forward(id, kept)) kept.push_back(id);
            block.insts = std::move(kept);
        }
    }

  private:
    static const StrRef* string(const Inst& inst, size_t operand) {
        const auto* str = std::get_if<ir::StrOperand>(&inst.operands[operand]);
        return str ? &str->str : nullptr;
    }

    // Is the instruction a copy to instance data that need not be, as its source can be made there? `before`:
    // what comes before it in its block.
    bool forward(ValueId id, const std::vector<ValueId>& before) {
        const Inst& copy = function_.insts[id];
        if (copy.op != Opcode::Call || copy.helper != KPL_H_str_copy || used_[id]) return false;
        const StrRef* to = string(copy, 1);
        const StrRef* from = string(copy, 3);
        if (to->where != StrRef::Where::Data || from->where != StrRef::Where::Slot || from->offset) return false;
        if (function_.slots[from->index].is_literal || slot_uses_[from->index] != 2) return false;
        if (from->limit > to->limit) return false;
        for (auto maker = before.rbegin(); maker != before.rend(); ++maker) {
            Inst& inst = function_.insts[*maker];
            if (StrRef* made = written_string(inst); made && *made == *from) {
                *made = {StrRef::Where::Data, to->index, from->limit};
                return true;
            }
            if (touches_data(inst, to->index, KPL_STR_SIZE(to->limit))) return false;
        }
        return false;
    }

    static StrRef* written_string(Inst& inst) {
        for (size_t i = 0; inst.op == Opcode::Call && i < inst.operands.size(); i++)
            if (auto* str = std::get_if<ir::StrOperand>(&inst.operands[i]))
                if (helper_writes(inst.helper, i)) return &str->str;
        return nullptr;
    }

    // Does it read or write any of these bytes of instance data?
    static bool touches_data(const Inst& inst, uint32_t offset, uint32_t size) {
        auto overlaps = [&](uint64_t other, uint32_t bytes) { return other < offset + size && offset < other + bytes; };
        if (inst.op == Opcode::LoadData || inst.op == Opcode::StoreData) return overlaps(inst.imm, 8);
        bool touches = false;
        auto look = [&](const StrRef& str) {
            if (str.where == StrRef::Where::Data) touches |= overlaps(str.index, KPL_STR_SIZE(str.limit));
        };
        for (const ir::Operand& operand : inst.operands)
            if (const auto* str = std::get_if<ir::StrOperand>(&operand)) look(str->str);
        for (const auto* fields : {&inst.fields, &inst.value_fields})
            for (const ir::FieldStore& field : *fields)
                if (const auto* str = std::get_if<StrRef>(&field.value)) look(*str);
        return touches;
    }

    ir::Function& function_;
    std::vector<uint32_t> slot_uses_;
    std::vector<bool> used_;
};

}  // namespace

void forward_strings(ir::Function& function) { Forwarding(function).run(); }

}  // namespace kpl
