// SPDX-License-Identifier: MIT
// IR functions written by hand, compiled and run in the simulator: what the code generator's tests share.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "codegen/codegen.hpp"
#include "ir/ir.hpp"
#include "simulator/asm.hpp"
#include "simulator/simulate.hpp"

namespace kpl::test {

using ir::BlockId;
using ir::Cmp;
using ir::FieldStore;
using ir::Opcode;
using ir::SlotId;
using ir::StrRef;
using ir::ValueId;

// Appends instructions to a current block. Every instruction's `what` is unique: "v" and its number.
class IrBuilder {
  public:
    explicit IrBuilder(kpl_prog_kind kind = KPL_PROG_PRE) {
        function.name = "test handler";
        function.kind = kind;
        block();
    }

    ir::Function function;
    BlockId current = 0;

    // A new block, which becomes the current one.
    BlockId block() {
        function.blocks.emplace_back();
        current = static_cast<BlockId>(function.blocks.size()) - 1;
        function.blocks[current].what = "end of b" + std::to_string(current);
        return current;
    }

    ValueId add(ir::Inst inst) {
        auto id = static_cast<ValueId>(function.insts.size());
        inst.what = "v" + std::to_string(id);
        inst.block = current;
        function.insts.push_back(std::move(inst));
        auto& insts = function.blocks[current].insts;
        if (function.insts[id].op == Opcode::Phi) {
            auto after = insts.begin();
            while (after != insts.end() && function.insts[*after].op == Opcode::Phi) ++after;
            insts.insert(after, id);
        } else {
            insts.push_back(id);
        }
        return id;
    }

    ValueId constant(int64_t value) { return add({.op = Opcode::Const, .imm = value}); }
    ValueId op(Opcode op, ValueId a, ValueId b) { return add({.op = op, .args = {a, b}}); }
    ValueId unary(Opcode op, ValueId a, int64_t imm = 0) { return add({.op = op, .imm = imm, .args = {a}}); }
    ValueId compare(Cmp cmp, ValueId a, ValueId b) { return add({.op = Opcode::Compare, .cmp = cmp, .args = {a, b}}); }
    ValueId select(ValueId c, ValueId a, ValueId b) { return add({.op = Opcode::Select, .args = {c, a, b}}); }
    ValueId phi(std::vector<ValueId> args) { return add({.op = Opcode::Phi, .args = std::move(args)}); }
    ValueId reg(int index) { return add({.op = Opcode::Reg, .imm = index * 8}); }
    ValueId hit_field(size_t offset) { return add({.op = Opcode::HitField, .imm = static_cast<int64_t>(offset)}); }
    ValueId call(kpl_helper helper, std::vector<ir::Operand> operands = {}, bool stops = false) {
        return add({.op = Opcode::Call, .stops = stops, .helper = helper, .operands = std::move(operands)});
    }
    ValueId load_data(int64_t offset) { return add({.op = Opcode::LoadData, .imm = offset}); }
    void store_data(int64_t offset, ValueId value) { add({.op = Opcode::StoreData, .imm = offset, .args = {value}}); }

    SlotId slot(uint32_t size) {
        function.slots.push_back({size, "", false});
        return static_cast<SlotId>(function.slots.size()) - 1;
    }
    SlotId string_slot(uint32_t limit) { return slot(KPL_STR_SIZE(limit)); }
    SlotId literal(const std::string& bytes) {
        function.slots.push_back({KPL_STR_SIZE(bytes.size()), bytes, true});
        return static_cast<SlotId>(function.slots.size()) - 1;
    }
    static StrRef in_slot(SlotId slot, uint32_t limit) { return {StrRef::Where::Slot, slot, limit}; }
    static StrRef in_data(uint32_t offset, uint32_t limit) { return {StrRef::Where::Data, offset, limit}; }

    // comm(), str(), ustr() into a slot of that limit.
    StrRef comm(uint32_t limit = 15) {
        StrRef str = in_slot(string_slot(limit), limit);
        call(KPL_H_comm, {ir::StrOperand{str}, ir::ConstOperand{limit}});
        return str;
    }
    void string(kpl_helper helper, StrRef to, ValueId address) {
        call(helper, {ir::HitOperand{}, ir::StrOperand{to}, ir::ConstOperand{to.limit}, address}, true);
    }

    ValueId emit(int64_t event, uint32_t size, std::vector<FieldStore> fields) {
        return add({.op = Opcode::Emit, .imm = event, .size = size, .fields = std::move(fields)});
    }
    ValueId agg_add(int64_t map, uint32_t key_size, std::vector<FieldStore> key, ValueId n) {
        return add({.op = Opcode::AggAdd, .imm = map, .size = key_size, .args = {n}, .fields = std::move(key)});
    }

    void jump(BlockId to) { jump_from(current, to); }
    void jump_from(BlockId from, BlockId to) {
        function.blocks[from].end = ir::Jump{to};
        function.blocks[to].preds.push_back(from);
    }
    void branch_from(BlockId from, Cmp cmp, ValueId a, ValueId b, BlockId yes, BlockId no) {
        function.blocks[from].end = ir::Branch{cmp, a, b, yes, no};
        function.blocks[yes].preds.push_back(from);
        function.blocks[no].preds.push_back(from);
    }
    void ret(bool skip = false) { function.blocks[current].end = ir::Return{skip}; }
    void stop(kpl_stop reason) { function.blocks[current].end = ir::Stop{reason}; }
};

inline std::string listing(const HandlerProgram& program) { return disassemble(program.insns, program.labels); }

inline HandlerProgram compile(const ir::Function& function) {
    auto program = generate(function);
    INFO((program.ok() ? "" : program.error().message()));
    REQUIRE(program.ok());
    return std::move(program).value();
}

// Verifies as the module would.
inline SimProgram load(const Simulator& simulator, const HandlerProgram& program) {
    auto loaded = simulator.load(SimLoad{program.insns, program.labels, static_cast<uint32_t>(program.kind),
                                         program.data_size, program.scratch_size, program.budget});
    INFO(listing(program));
    INFO((loaded.ok() ? "" : loaded.error().message()));
    REQUIRE(loaded.ok());
    return std::move(loaded).value();
}

// What a stop at that pc was doing.
inline std::string what_at(const HandlerProgram& program, uint32_t pc) {
    const PcNote* note = program.note_at(pc);
    return note ? note->what : "nothing";
}

}  // namespace kpl::test
