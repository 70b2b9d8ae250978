// SPDX-License-Identifier: MIT
// The state of one lowering, shared by its files. From outside: lower.hpp.
//
// Values are computed where the IR has them, but for those that are cheaper where they are used: constants,
// loads of the hit and the registers (again after each call, as registers that survive one are few), and what
// is used once, by the test or the instruction that it folds into.
#pragma once

#include <array>
#include <variant>
#include <vector>

#include "codegen/helpers.hpp"
#include "codegen/memory.hpp"
#include "codegen/mir.hpp"
#include "codegen/order.hpp"
#include "codegen/uses.hpp"

namespace kpl {

class Lowering {
  public:
    explicit Lowering(const ir::Function& function);
    mir::Function run();

  private:
    using ValueId = ir::ValueId;
    using Reg = mir::Reg;

    // A register or a number that fits the immediate of an instruction.
    struct Operand {
        Reg reg = mir::no_reg;
        int64_t imm = 0;
    };

    struct Condition {
        mir::Test test = mir::Test::Ne;
        bool narrow = false;
        bool negated = false;  // Bits alone: no common bit
        Reg a = mir::no_reg;
        Operand b;
    };

    // Memory at reg + off.
    struct Address {
        Reg reg;
        int32_t off;
    };

    // Arguments of a call.
    struct HitArg {};
    struct ConstArg {
        int64_t value;
    };
    struct MapArg {
        int64_t map;
    };
    struct ValueArg {
        ValueId value;
    };
    struct RegArg {
        Reg reg;
    };
    enum class Object : uint8_t { Regs, Data, Scratch };  // what the hit points to
    struct ObjectArg {
        Object object;
        uint32_t offset;
    };
    struct StackArg {
        int32_t offset;
    };
    using Arg = std::variant<HitArg, ConstArg, MapArg, ValueArg, RegArg, ObjectArg, StackArg>;

    // lower.cpp: blocks
    void lower_block(ir::BlockId id);
    void lower_terminator(ir::BlockId id);
    void lower_branch(ir::BlockId id, const ir::Branch& branch);
    mir::BlockId edge(ir::BlockId from, ir::BlockId to, bool second, bool alone);
    void copy_phis(ir::BlockId to, size_t pred);
    mir::BlockId new_block();
    void enter(mir::BlockId block);
    mir::Inst& emit(mir::Inst inst);
    void set_note(const SourceLoc& at, const std::string& what);

    // lower_values.cpp: where values are
    void classify();
    bool takes_one_value(const ir::Inst& v) const;
    bool deferred(ValueId value) const;
    bool waits(ValueId value) const { return deferred(value) && value_reg_[value] == mir::no_reg; }
    const ir::Inst& inst(ValueId value) const { return in_.insts[value]; }
    bool is_const(ValueId value) const { return inst(value).op == ir::Opcode::Const; }
    Reg reg_of(ValueId value);
    Reg reg_of(const Operand& operand);
    void keep(ValueId value);
    Operand operand_of(ValueId value);
    Reg read_again(ValueId value);
    Reg object(Object object);
    void start_region();
    void flush_loads(bool single_uses);
    void move(Reg dst, ValueId value);
    void move_imm(Reg dst, int64_t imm);
    void move_reg(Reg dst, Reg src);
    Reg load(Reg base, int32_t off, uint8_t size, mir::Holds holds = mir::Holds::Number);
    void alu(uint8_t op, Reg dst, Operand b);
    void define(ValueId value, Reg reg) { value_reg_[value] = reg; }

    // lower_arith.cpp: numbers
    void lower_value(ValueId value);
    void lower_binary(ValueId value);
    bool lower_multiply(ValueId value);
    bool lower_unsigned_division(ValueId value);
    void lower_signed_division(ValueId value);
    Reg divide_by_constant(ValueId dividend, uint64_t divisor, bool modulo);
    Reg divide_by_power(ValueId dividend, uint32_t shift, bool modulo);
    Reg extend(ValueId value);

    // lower_tests.cpp: comparisons
    Condition truth(ValueId value);
    Condition compare(ir::Cmp cmp, ValueId a, ValueId b);
    bool compare_narrow(ir::Cmp cmp, ValueId a, ValueId b, Condition& condition);
    void lower_select(ValueId value);
    void lower_compare(ValueId value);
    mir::Inst test(mir::Kind kind, const Condition& condition);

    // lower_calls.cpp: helpers and memory
    uint32_t call(kpl_helper helper, const std::vector<Arg>& args);
    void set_argument(Reg reg, const Arg& arg);
    Reg result();
    void take_result(ValueId value);
    void trap(uint32_t site);
    void branch_if_zero(Reg reg, mir::BlockId yes, mir::BlockId no);
    bool is_unused(const ir::StrRef& str) const;
    void lower_call(ValueId value);
    void lower_read(ValueId value);
    void store_reg(int32_t offset, ValueId number);
    void lower_store(ValueId value);
    Arg string_arg(const ir::StrRef& str);
    Arg slot_arg(ir::SlotId slot, uint32_t offset);
    Address scratch(uint32_t offset, uint32_t size);
    void store_literal(ir::SlotId slot);
    bool stores_literal(ir::SlotId slot) const;

    // lower_fields.cpp: records, keys, values
    void store(Address to, ValueId value);
    void store_imm(Address to, int64_t imm);
    void store_bytes(Address to, const std::string& bytes, uint32_t size);
    void store_numbers(const std::vector<ir::FieldStore>& fields, uint32_t size, Address base, int skip, bool record);
    Arg build(const std::vector<ir::FieldStore>& fields, uint32_t size, const Memory& memory, bool soft);
    void copy_strings(const std::vector<ir::FieldStore>& fields, const Memory& memory, bool soft);
    void lower_map(ValueId value);
    void lower_emit(ValueId value);
    void fill_record(const ir::Inst& emit, Reg record, mir::BlockId after);
    const ir::Inst* reader(const ir::StrRef& str) const;
    static ValueId address_of(const ir::Inst& str);
    void read_lost(const ir::Inst& emit);
    void read_string(const ir::Inst& str, Reg record, uint32_t offset, mir::BlockId after);

    const ir::Function& in_;
    const BlockOrder order_;
    const std::vector<Uses> uses_;
    const MemoryLayout memory_;
    mir::Function out_;

    std::vector<bool> again_;                        // by value: read again wherever it is used
    std::vector<bool> folds_;                        // by value: lowered at its only use
    std::vector<Reg> value_reg_;                     // by value, once it is lowered
    std::vector<ValueId> loads_;                     // loads of this block that wait for their first use
    std::vector<std::vector<ir::SlotId>> literals_;  // by block: those that are in their slots from there on

    // Since the last call, in this block.
    std::vector<std::pair<ValueId, Reg>> region_values_;
    std::array<Reg, 3> region_objects_;  // by Object

    Reg hit_;
    ir::BlockId ir_block_ = 0;
    mir::BlockId block_ = 0;
    uint32_t note_ = 0;
};

}  // namespace kpl
