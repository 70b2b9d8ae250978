// SPDX-License-Identifier: MIT
#include "ir/build/writer.hpp"

namespace kpl::builder {

using namespace ir;

BlockId Writer::new_block() {
    f_.blocks.emplace_back();
    f_.blocks.back().at = at_;
    return static_cast<BlockId>(f_.blocks.size() - 1);
}

ValueId Writer::append_to(BlockId block, Inst inst) {
    const ValueId id = static_cast<ValueId>(f_.insts.size());
    inst.at = at_;
    inst.block = block;
    f_.blocks[block].insts.push_back(id);
    f_.insts.push_back(std::move(inst));
    return id;
}

ValueId Writer::constant_in(BlockId block, int64_t n) { return append_to(block, {.op = Opcode::Const, .imm = n}); }

ValueId Writer::unary(Opcode op, ValueId a, int64_t imm) { return append({.op = op, .imm = imm, .args = {a}}); }

ValueId Writer::binary(Opcode op, ValueId a, ValueId b) { return append({.op = op, .args = {a, b}}); }

ValueId Writer::compare(Cmp cmp, ValueId a, ValueId b) {
    return append({.op = Opcode::Compare, .cmp = cmp, .args = {a, b}});
}

ValueId Writer::call(kpl_helper helper, std::vector<Operand> operands, bool stops, std::string what) {
    return append({.op = Opcode::Call,
                   .stops = stops,
                   .helper = helper,
                   .operands = std::move(operands),
                   .what = std::move(what)});
}

ValueId Writer::load_slot(SlotId slot, uint32_t offset) {
    return append({.op = Opcode::LoadSlot, .imm = offset, .slot = slot});
}

void Writer::store_slot_in(BlockId block, SlotId slot, uint32_t offset, ValueId value) {
    append_to(block, {.op = Opcode::StoreSlot, .imm = offset, .slot = slot, .args = {value}});
}

ValueId Writer::load_data(uint32_t offset) { return append({.op = Opcode::LoadData, .imm = offset}); }

void Writer::store_data(uint32_t offset, ValueId value) {
    append({.op = Opcode::StoreData, .imm = offset, .args = {value}});
}

ValueId Writer::phi(BlockId block, std::vector<ValueId> args) {
    const ValueId id = static_cast<ValueId>(f_.insts.size());
    Inst inst{.op = Opcode::Phi, .args = std::move(args)};
    inst.at = at_;
    inst.block = block;
    // Phis come first; those that are there are all phis or follow none.
    auto& insts = f_.blocks[block].insts;
    auto at = insts.begin();
    while (at != insts.end() && f_.insts[*at].op == Opcode::Phi) ++at;
    insts.insert(at, id);
    f_.insts.push_back(std::move(inst));
    return id;
}

SlotId Writer::new_slot(uint32_t size) {
    f_.slots.push_back({.size = (size + 7) & ~7u, .literal = {}, .is_literal = false});
    return static_cast<SlotId>(f_.slots.size() - 1);
}

SlotId Writer::literal_slot(const std::string& bytes) {
    for (size_t i = 0; i < f_.slots.size(); i++)
        if (f_.slots[i].is_literal && f_.slots[i].literal == bytes) return static_cast<SlotId>(i);
    const SlotId id = new_slot(KPL_STR_SIZE(bytes.size()));
    f_.slots[id].literal = bytes;
    f_.slots[id].is_literal = true;
    return id;
}

void Writer::end(BlockId block, Terminator t, std::string what) {
    Block& b = f_.blocks[block];
    b.end = t;
    b.at = at_;
    b.what = std::move(what);
}

void Writer::jump_from(BlockId from, BlockId to) {
    end(from, Jump{to});
    f_.blocks[to].preds.push_back(from);
}

void Writer::branch(Cmp cmp, ValueId a, ValueId b, BlockId yes, BlockId no) {
    end(block_, Branch{cmp, a, b, yes, no});
    f_.blocks[yes].preds.push_back(block_);
    f_.blocks[no].preds.push_back(block_);
}

void Writer::leave(Terminator t, std::string what) { end(block_, t, std::move(what)); }

}  // namespace kpl::builder
