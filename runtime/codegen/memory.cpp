// SPDX-License-Identifier: MIT
#include "codegen/memory.hpp"

#include <algorithm>
#include <numeric>

#include "codegen/helpers.hpp"

namespace kpl {
namespace {

using ir::FieldStore;
using ir::Inst;
using ir::Opcode;
using ir::SlotId;
using ir::StrRef;
using ir::ValueId;

constexpr uint32_t max_on_stack = 64;  // bytes of a key or a value
constexpr int none = -1;

// A piece of scratch memory that gets an offset of its own.
struct Area {
    uint32_t size = 0;
    uint32_t uses = 0;
};

const StrRef* slot_string(const FieldStore& field) {
    const auto* str = std::get_if<StrRef>(&field.value);
    return str && str->where == StrRef::Where::Slot ? str : nullptr;
}

// Does something that others see, or may stop the handler?
bool acts(const Inst& inst) {
    switch (inst.op) {
        case Opcode::Read:
        case Opcode::StatusClear:
        case Opcode::StoreData:
        case Opcode::StoreReg:
        case Opcode::Emit:
        case Opcode::AggAdd:
        case Opcode::MapSet:
        case Opcode::MapDelete:
        case Opcode::MapAdd: return true;
        case Opcode::Call:
            if (inst.stops) return true;
            if (kpl_helper_descs[inst.helper].effect != KPL_EFFECT_ACTS) return false;
            for (size_t i = 0; i < inst.operands.size(); i++)
                if (helper_writes(inst.helper, i)) return false;
            return true;
        default: return false;
    }
}

class Assignment {
  public:
    Assignment(const ir::Function& function, const std::vector<Uses>& uses)
        : function_(function),
          uses_(uses),
          slots_(function.slots.size()),
          area_of_slot_(function.slots.size(), none),
          offset_in_area_(function.slots.size()) {
        result_.key.resize(function.insts.size());
        result_.value.resize(function.insts.size());
        result_.unused.resize(function.slots.size());
        result_.reader.resize(function.slots.size(), ir::no_value);
    }

    MemoryLayout run() {
        for (const ir::Block& block : function_.blocks)
            for (ValueId id : block.insts) scan(id);
        for (const ir::Block& block : function_.blocks)
            for (ValueId id : block.insts) place_fields(id);
        place_slots();
        lay_out();
        return std::move(result_);
    }

  private:
    struct SlotUse {
        uint32_t uses = 0;
        bool written = false;
        uint32_t limit = 0;             // of the string that one helper, and nothing else, writes there
        bool filled = false;            // to its limit
        ValueId writer = ir::no_value;  // the last of them
    };

    // A field that waits for the offsets of areas.
    struct Pending {
        Memory* memory;
        int area;
        uint32_t offset;
    };

    void write(SlotId slot, ValueId writer, uint32_t limit = 0, bool filled = false) {
        SlotUse& use = slots_[slot];
        use.uses++;
        use.limit = use.written ? 0 : limit;
        use.filled = filled;
        use.writer = writer;
        use.written = true;
    }

    // Where the slots of an instruction are used. comm() is the one helper that fills a string to its limit.
    void scan(ValueId id) {
        const Inst& inst = function_.insts[id];
        if (inst.op == Opcode::LoadSlot) slots_[inst.slot].uses++;
        if (inst.op == Opcode::StoreSlot || inst.op == Opcode::MapGet) write(inst.slot, id);
        for (size_t i = 0; i < inst.operands.size(); i++) {
            auto touch = [&](SlotId slot, uint32_t limit) {
                if (helper_writes(inst.helper, i))
                    write(slot, id, limit, inst.helper == KPL_H_comm);
                else
                    slots_[slot].uses++;
            };
            if (const auto* memory = std::get_if<ir::SlotOperand>(&inst.operands[i])) touch(memory->slot, 0);
            const auto* string = std::get_if<ir::StrOperand>(&inst.operands[i]);
            if (string && string->str.where == StrRef::Where::Slot) touch(string->str.index, string->str.limit);
        }
        for (const auto* fields : {&inst.fields, &inst.value_fields})
            for (const FieldStore& field : *fields)
                if (const StrRef* str = slot_string(field))
                    slots_[str->index].uses += !inline_literal(function_, field) || inst.op == Opcode::Emit;
    }

    // Does the string's own helper write exactly what the field is to hold? `rest`: something else than 0 may stand
    // behind the string.
    bool fills_field(const FieldStore& field, bool rest) const {
        const StrRef* str = slot_string(field);
        if (!str) return false;
        const SlotUse& use = slots_[str->index];
        return use.limit && use.limit == field.limit && str->offset == 0 && (use.filled || rest);
    }

    // Is the key of an aggregation what comm() wrote, all of it, for this key alone? In the same block: what stands in
    // a loop would ask for the name at each turn.
    bool is_comm(const Inst& inst) const {
        if (inst.op != Opcode::AggAdd || inst.fields.size() != 1 || inst.size != KPL_STR_SIZE(KPL_COMM)) return false;
        const FieldStore& field = inst.fields[0];
        if (!fills_field(field, false) || field.limit < KPL_COMM - 1) return false;
        const SlotUse& use = slots_[slot_string(field)->index];
        return use.uses == 2 && block_of(use.writer) == inst.block;
    }

    // Which of a record's strings are what str() read for that field alone: the record's own helper reads them, in the
    // same order, but later. So nothing that others see, and nothing else that may stop the handler, stands between.
    void read_in_record(ValueId record) {
        const Inst& emit = function_.insts[record];
        const std::vector<ValueId>& insts = function_.blocks[emit.block].insts;
        auto before = std::find(insts.rbegin(), insts.rend(), record);
        size_t fields = emit.fields.size();  // those before it may still be read so
        for (++before; before != insts.rend() && fields; ++before) {
            const size_t field = field_read_by(*before, emit, fields);
            if (field == fields && acts(function_.insts[*before])) return;
            if (field == fields) continue;
            const SlotId slot = slot_string(emit.fields[field])->index;
            result_.unused[slot] = true;
            result_.reader[slot] = *before;
            fields = field;
        }
    }

    // The index of the field, among the first `count`; `count`: none.
    size_t field_read_by(ValueId id, const Inst& emit, size_t count) const {
        const Inst& call = function_.insts[id];
        if (call.op != Opcode::Call || call.helper != KPL_H_str || !call.stops || uses_[id].count) return count;
        const auto is_read = [&](const FieldStore& field) {
            const StrRef* str = slot_string(field);
            if (!str || str->offset != 0) return false;
            const SlotUse& use = slots_[str->index];
            return use.uses == 2 && use.writer == id && use.limit == str->limit;
        };
        const auto first = emit.fields.begin(), end = first + static_cast<ptrdiff_t>(count);
        return static_cast<size_t>(std::find_if(first, end, is_read) - first);
    }

    ir::BlockId block_of(ValueId id) const { return function_.insts[id].block; }

    int new_area(uint32_t size) {
        areas_.push_back({size, 0});
        return static_cast<int>(areas_.size()) - 1;
    }

    int shared_area(int& shared, uint32_t size) {
        if (shared == none) shared = new_area(0);
        areas_[shared].size = std::max(areas_[shared].size, size);
        return shared;
    }

    void place_fields(ValueId id) {
        const Inst& inst = function_.insts[id];
        switch (inst.op) {
            case Opcode::Emit: read_in_record(id); break;
            case Opcode::MapSet:
                place(inst.value_fields, inst.value_size, result_.value[id], shared_value_, stack_value_, false);
                [[fallthrough]];
            case Opcode::AggAdd:
            case Opcode::MapGet:
            case Opcode::MapDelete:
            case Opcode::MapAdd:
                if (is_comm(inst)) {
                    result_.key[id].where = Memory::Where::Comm;
                    result_.unused[slot_string(inst.fields[0])->index] = true;
                    break;
                }
                place(inst.fields, inst.size, result_.key[id], shared_key_, stack_key_, inst.string_ends);
                break;
            default: break;
        }
    }

    void place(const std::vector<FieldStore>& fields, uint32_t size, Memory& memory, int& shared, uint32_t& stack,
               bool string_ends) {
        if (size == 0) return;
        bool copies = std::any_of(fields.begin(), fields.end(), [&](const FieldStore& field) {
            return std::holds_alternative<StrRef>(field.value) && !inline_literal(function_, field);
        });
        if (!copies && size <= max_on_stack) {
            memory.where = Memory::Where::Stack;
            memory.offset = -static_cast<int32_t>(size);
            stack = std::max(stack, size);
            return;
        }
        memory.where = Memory::Where::Scratch;
        int area = none;
        uint32_t offset = 0;
        for (size_t i = 0; i < fields.size() && area == none; i++) {
            if (!fills_field(fields[i], string_ends && fields[i].offset + field_size(fields[i]) == size)) continue;
            SlotId slot = slot_string(fields[i])->index;
            bool whole = fields[i].offset == 0 && field_size(fields[i]) == size;
            if (area_of_slot_[slot] == none) {
                area_of_slot_[slot] = new_area(size);
                offset_in_area_[slot] = fields[i].offset;
            } else if (!whole) {
                continue;
            }
            area = area_of_slot_[slot];
            offset = offset_in_area_[slot] - fields[i].offset;
            memory.in_place = static_cast<int>(i);
        }
        if (area == none) area = shared_area(shared, size);
        areas_[area].uses++;
        pending_.push_back({&memory, area, offset});
    }

    void place_slots() {
        for (SlotId slot = 0; slot < slots_.size(); slot++) {
            if (slots_[slot].uses == 0 || result_.unused[slot]) continue;
            if (area_of_slot_[slot] == none) area_of_slot_[slot] = new_area(function_.slots[slot].size);
            areas_[area_of_slot_[slot]].uses += slots_[slot].uses;
        }
    }

    // What is used most lies first: the address at offset 0 costs an instruction less.
    void lay_out() {
        std::vector<int> order(areas_.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return areas_[a].uses > areas_[b].uses; });
        std::vector<uint32_t> offset(areas_.size());
        uint64_t size = 0;
        for (int area : order) {
            offset[area] = static_cast<uint32_t>(size);
            size += (areas_[area].size + 7) & ~7u;
            size = std::min<uint64_t>(size, UINT32_MAX / 2);
        }
        result_.slot.assign(slots_.size(), 0);
        for (SlotId slot = 0; slot < slots_.size(); slot++)
            if (area_of_slot_[slot] != none) result_.slot[slot] = offset[area_of_slot_[slot]] + offset_in_area_[slot];
        for (const Pending& pending : pending_)
            pending.memory->offset = static_cast<int32_t>(offset[pending.area] + pending.offset);
        for (Memory& value : result_.value)
            if (value.where == Memory::Where::Stack) value.offset -= static_cast<int32_t>(stack_key_);
        result_.scratch_size = static_cast<uint32_t>(size);
        result_.stack_size = stack_key_ + stack_value_;
    }

    const ir::Function& function_;
    const std::vector<Uses>& uses_;
    std::vector<SlotUse> slots_;
    std::vector<int> area_of_slot_;
    std::vector<uint32_t> offset_in_area_;
    std::vector<Area> areas_;
    std::vector<Pending> pending_;
    int shared_key_ = none, shared_value_ = none;
    uint32_t stack_key_ = 0, stack_value_ = 0;
    MemoryLayout result_;
};

}  // namespace

MemoryLayout assign_memory(const ir::Function& function, const std::vector<Uses>& uses) {
    return Assignment(function, uses).run();
}

const std::string* inline_literal(const ir::Function& function, const ir::FieldStore& field) {
    const StrRef* str = slot_string(field);
    if (!str || field_size(field) > max_inline_literal) return nullptr;
    const ir::Slot& slot = function.slots[str->index];
    return slot.is_literal && slot.literal.size() <= field.limit ? &slot.literal : nullptr;
}

uint32_t field_size(const ir::FieldStore& field) {
    bool number = std::holds_alternative<ValueId>(field.value) ||
                  (std::holds_alternative<std::monostate>(field.value) && field.limit == 0);
    return number ? 8 : KPL_STR_SIZE(field.limit);
}

}  // namespace kpl
