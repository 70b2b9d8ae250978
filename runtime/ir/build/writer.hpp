// SPDX-License-Identifier: MIT
// Appends instructions to a function's blocks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/ir.hpp"

namespace kpl::builder {

class Writer {
  public:
    explicit Writer(ir::Function& f) : f_(f) {}

    ir::BlockId new_block();
    size_t values() const { return f_.insts.size(); }  // so far
    ir::BlockId block() const { return block_; }
    void enter(ir::BlockId block) { block_ = block; }
    // The line and the expression that what follows stands for.
    void set_line(SourceLoc at) { at_ = std::move(at); }
    const SourceLoc& line() const { return at_; }

    ir::ValueId append(ir::Inst inst) { return append_to(block_, std::move(inst)); }
    ir::ValueId append_to(ir::BlockId block, ir::Inst inst);
    ir::ValueId constant(int64_t n) { return constant_in(block_, n); }
    ir::ValueId constant_in(ir::BlockId block, int64_t n);
    ir::ValueId unary(ir::Opcode op, ir::ValueId a, int64_t imm = 0);
    ir::ValueId binary(ir::Opcode op, ir::ValueId a, ir::ValueId b);
    ir::ValueId compare(ir::Cmp cmp, ir::ValueId a, ir::ValueId b);
    ir::ValueId call(kpl_helper helper, std::vector<ir::Operand> operands, bool stops, std::string what = {});
    ir::ValueId load_slot(ir::SlotId slot, uint32_t offset);
    void store_slot_in(ir::BlockId block, ir::SlotId slot, uint32_t offset, ir::ValueId value);
    ir::ValueId load_data(uint32_t offset);
    void store_data(uint32_t offset, ir::ValueId value);
    ir::ValueId phi(ir::BlockId block, std::vector<ir::ValueId> args);

    ir::SlotId new_slot(uint32_t size);
    ir::SlotId literal_slot(const std::string& bytes);

    // Ends the current block. Predecessors are recorded.
    void jump(ir::BlockId to) { jump_from(block_, to); }
    void jump_from(ir::BlockId from, ir::BlockId to);
    void branch(ir::Cmp cmp, ir::ValueId a, ir::ValueId b, ir::BlockId yes, ir::BlockId no);
    void leave(ir::Terminator end, std::string what = {});

    ir::Function& function() { return f_; }

  private:
    void end(ir::BlockId block, ir::Terminator t, std::string what = {});

    ir::Function& f_;
    ir::BlockId block_ = 0;
    SourceLoc at_;
};

}  // namespace kpl::builder
