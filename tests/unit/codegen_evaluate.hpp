// SPDX-License-Identifier: MIT
// What an IR function means, without generating code: the other side of the code generator's random tests.
// Starts from the state of a Simulator and tells in which state the generated program has to leave it.
#pragma once

#include <cstring>
#include <map>
#include <optional>

#include "codegen/uses.hpp"
#include "codegen_ir.hpp"

namespace kpl::test {

// A record as its consumer sees it, by offset in the fixed part.
struct SeenRecord {
    uint32_t event = 0;
    std::map<uint32_t, uint64_t> numbers;
    std::map<uint32_t, std::string> strings;
    bool operator==(const SeenRecord&) const = default;
};

struct Evaluation {
    uint32_t reason = 0;  // enum kpl_stop
    std::string what;     // of the instruction that stopped
    bool skipped = false;
    bool endless = false;  // too many steps
    std::vector<SeenRecord> records;
};

class Evaluator {
  public:
    // `state` is left as the program has to leave it, but for its records.
    Evaluator(const ir::Function& function, Simulator& state)
        : function_(function), state_(state), values_(function.insts.size()) {
        for (const ir::Slot& slot : function.slots) {
            ByteVector bytes(slot.size);
            if (slot.is_literal) put_string(bytes, slot.literal);
            slots_.push_back(std::move(bytes));
        }
        for (ValueId id = 0; id < function.insts.size(); id++) bits_.push_back(significant_bits(function, id));
        state_.data.resize(std::max<size_t>(state_.data.size(), function.data_size));
        if (function.kind != KPL_PROG_FAULT) state_.hit.bad_addr = 0;
    }

    Evaluation run() {
        BlockId block = 0, from = 0;
        for (int steps = 0; steps < 100000; steps++) {
            const ir::Block& b = function_.blocks[block];
            enter(block, from);
            for (ValueId id : b.insts) {
                const ir::Inst& inst = function_.insts[id];
                if (inst.op == Opcode::Phi) continue;
                values_[id] = evaluate(inst);
                if (bits_[id] < 64 && values_[id] >> bits_[id]) FAIL("more bits than significant_bits() says: v" << id);
                if (!stop_) continue;
                result_.reason = *stop_;
                result_.what = inst.what;
                return std::move(result_);
            }
            from = block;
            if (const auto* jump = std::get_if<ir::Jump>(&b.end)) {
                block = jump->to;
            } else if (const auto* branch = std::get_if<ir::Branch>(&b.end)) {
                block = holds(branch->cmp, values_[branch->a], values_[branch->b]) ? branch->yes : branch->no;
            } else if (const auto* ret = std::get_if<ir::Return>(&b.end)) {
                result_.skipped = ret->skip;
                return std::move(result_);
            } else {
                result_.reason = std::get<ir::Stop>(b.end).reason;
                result_.what = b.what;
                return std::move(result_);
            }
        }
        result_.endless = true;
        return std::move(result_);
    }

    static bool holds(Cmp cmp, uint64_t a, uint64_t b) {
        auto s = static_cast<int64_t>(a), t = static_cast<int64_t>(b);
        switch (cmp) {
            case Cmp::Eq: return a == b;
            case Cmp::Ne: return a != b;
            case Cmp::SLt: return s < t;
            case Cmp::SLe: return s <= t;
            case Cmp::SGt: return s > t;
            case Cmp::SGe: return s >= t;
            case Cmp::ULt: return a < b;
            case Cmp::ULe: return a <= b;
            case Cmp::UGt: return a > b;
            case Cmp::UGe: return a >= b;
        }
        return false;
    }

  private:
    void enter(BlockId block, BlockId from) {
        const ir::Block& b = function_.blocks[block];
        size_t pred = 0;
        while (pred < b.preds.size() && b.preds[pred] != from) pred++;
        std::vector<std::pair<ValueId, uint64_t>> phis;
        for (ValueId id : b.insts)
            if (function_.insts[id].op == Opcode::Phi) phis.push_back({id, values_[function_.insts[id].args[pred]]});
        for (auto [id, value] : phis) values_[id] = value;
    }

    void fail(kpl_stop reason, uint64_t address, bool stops) {
        state_.hit.status = reason;
        state_.hit.bad_addr = address;
        if (stops) stop_ = reason;
    }

    static uint64_t divide(Opcode op, uint64_t a, uint64_t b) {
        auto s = static_cast<int64_t>(a), t = static_cast<int64_t>(b);
        switch (op) {
            case Opcode::UDiv: return b ? a / b : 0;
            case Opcode::UMod: return b ? a % b : a;
            case Opcode::SDiv: return b == 0 ? 0 : t == -1 ? -a : s / t;
            default: return b == 0 ? a : t == -1 ? 0 : s % t;
        }
    }

    uint64_t evaluate(const ir::Inst& inst) {
        auto arg = [&](size_t i) { return values_[inst.args[i]]; };
        const uint32_t unused = 64 - static_cast<uint32_t>(inst.imm);  // bits, of extensions
        switch (inst.op) {
            case Opcode::Const: return inst.imm;
            case Opcode::Phi: return 0;
            case Opcode::HitField: return hit_field(inst.imm);
            case Opcode::Reg: return state_.regs[inst.imm / 8];
            case Opcode::Add: return arg(0) + arg(1);
            case Opcode::Sub: return arg(0) - arg(1);
            case Opcode::Mul: return arg(0) * arg(1);
            case Opcode::UDiv:
            case Opcode::UMod:
            case Opcode::SDiv:
            case Opcode::SMod: return divide(inst.op, arg(0), arg(1));
            case Opcode::And: return arg(0) & arg(1);
            case Opcode::Or: return arg(0) | arg(1);
            case Opcode::Xor: return arg(0) ^ arg(1);
            case Opcode::Shl: return arg(0) << (arg(1) & 63);
            case Opcode::Shr: return arg(0) >> (arg(1) & 63);
            case Opcode::Sar: return static_cast<int64_t>(arg(0)) >> (arg(1) & 63);
            case Opcode::Neg: return -arg(0);
            case Opcode::Not: return ~arg(0);
            case Opcode::SExt: return static_cast<int64_t>(arg(0) << unused) >> unused;
            case Opcode::ZExt: return arg(0) << unused >> unused;
            case Opcode::Compare: return holds(inst.cmp, arg(0), arg(1));
            case Opcode::Select: return arg(0) ? arg(1) : arg(2);
            case Opcode::Read: return read(arg(0), inst.imm, true);
            case Opcode::SoftRead: return read(arg(0), inst.imm, false);
            case Opcode::StatusClear: return std::exchange(state_.hit.status, 0);
            case Opcode::LoadReg: return state_.regs[inst.imm / 8];
            case Opcode::StoreReg: state_.regs[inst.imm / 8] = arg(0); return 0;
            case Opcode::LoadData: return word(state_.data, inst.imm);
            case Opcode::StoreData: put_word(state_.data, inst.imm, arg(0)); return 0;
            case Opcode::LoadSlot: return word(slots_[inst.slot], inst.imm);
            case Opcode::StoreSlot: put_word(slots_[inst.slot], inst.imm, arg(0)); return 0;
            case Opcode::Call: return call(inst);
            case Opcode::Emit: emit(inst); return 0;
            default: return map(inst);
        }
    }

    uint64_t hit_field(int64_t offset) const {
        if (offset == offsetof(kpl_hit, status)) return state_.hit.status;
        if (offset == offsetof(kpl_hit, cpu)) return state_.hit.cpu;
        uint64_t value;
        memcpy(&value, reinterpret_cast<const char*>(&state_.hit) + offset, 8);
        return value;
    }

    uint64_t read(uint64_t address, size_t size, bool stops) {
        uint64_t value = 0;
        if (state_.kernel.read(address, {reinterpret_cast<uint8_t*>(&value), size})) return value;
        fail(KPL_STOP_READ, address, stops);
        return 0;
    }

    // ---- memory

    static uint64_t word(const ByteVector& bytes, size_t offset) {
        uint64_t value;
        REQUIRE(offset + 8 <= bytes.size());
        memcpy(&value, &bytes[offset], 8);
        return value;
    }
    static void put_word(ByteVector& bytes, size_t offset, uint64_t value) {
        REQUIRE(offset + 8 <= bytes.size());
        memcpy(&bytes[offset], &value, 8);
    }
    static void put_string(ByteVector& bytes, const std::string& text, size_t offset = 0) {
        put_word(bytes, offset, text.size());
        if (!text.empty()) memcpy(&bytes[offset + 8], text.data(), text.size());
    }

    std::string string_at(StrRef str) const {
        const ByteVector& bytes = str.where == StrRef::Where::Slot ? slots_[str.index] : state_.data;
        size_t offset = str.where == StrRef::Where::Slot ? str.offset : str.index;
        size_t length = std::min<uint64_t>(static_cast<uint32_t>(word(bytes, offset)), str.limit);
        return std::string(reinterpret_cast<const char*>(bytes.data() + offset + 8), length);
    }
    // With zeros to its limit.
    void set_string(StrRef str, std::string text) {
        text.resize(KPL_STR_SIZE(str.limit) - 8);
        ByteVector& bytes = str.where == StrRef::Where::Slot ? slots_[str.index] : state_.data;
        put_string(bytes, text, str.where == StrRef::Where::Slot ? 0 : str.index);
    }
    uint64_t set_string_and_length(StrRef str, const std::string& text) {
        set_string(str, text);
        ByteVector& bytes = str.where == StrRef::Where::Slot ? slots_[str.index] : state_.data;
        put_word(bytes, str.where == StrRef::Where::Slot ? 0 : str.index, text.size());
        return text.size();
    }

    // ---- helpers

    uint64_t number(const ir::Inst& inst, size_t i) const { return values_[std::get<ValueId>(inst.operands[i])]; }
    static StrRef str(const ir::Inst& inst, size_t i) { return std::get<ir::StrOperand>(inst.operands[i]).str; }

    uint64_t call(const ir::Inst& inst) {
        switch (inst.helper) {
            case KPL_H_now: return state_.now;
            case KPL_H_pid: return state_.task.pid;
            case KPL_H_tid: return state_.task.tid;
            case KPL_H_cgroup: return state_.task.cgroup;
            case KPL_H_comm:
                set_string_and_length(str(inst, 0), state_.task.comm.substr(0, str(inst, 0).limit));
                return 0;
            case KPL_H_str: return read_string(inst, state_.kernel, KPL_STOP_READ);
            case KPL_H_ustr: return read_string(inst, state_.user, KPL_STOP_USER_READ);
            case KPL_H_str_copy: {
                std::string text = string_at(str(inst, 3));
                if (text.size() <= str(inst, 1).limit) return set_string_and_length(str(inst, 1), text);
                set_string_and_length(str(inst, 1), "");
                fail(KPL_STOP_TOO_LONG, 0, inst.stops);
                return 0;
            }
            case KPL_H_str_eq: return string_at(str(inst, 0)) == string_at(str(inst, 2));
            case KPL_H_str_starts: return string_at(str(inst, 0)).starts_with(string_at(str(inst, 2)));
            case KPL_H_read_mem: return read_block(inst);
            case KPL_H_exit:
                if (!state_.exit_code) state_.exit_code = static_cast<int32_t>(number(inst, 1));
                return 0;
            default: FAIL("helper without a meaning here"); return 0;
        }
    }

    uint64_t read_string(const ir::Inst& inst, const SimMemory& memory, kpl_stop reason) {
        StrRef to = str(inst, 1);
        std::string text;
        for (uint64_t address = number(inst, 3);; address++) {
            auto byte = memory.byte(address);
            if (!byte) {
                set_string_and_length(to, "");
                fail(reason, address, inst.stops);
                return 0;
            }
            if (*byte == 0 || text.size() == to.limit) return set_string_and_length(to, text);
            text.push_back(static_cast<char>(*byte));
        }
    }

    uint64_t read_block(const ir::Inst& inst) {
        auto to = std::get<ir::SlotOperand>(inst.operands[1]);
        auto size = static_cast<size_t>(std::get<ir::ConstOperand>(inst.operands[2]).value);
        std::span out(slots_[to.slot].data() + to.offset, size);
        if (state_.kernel.read(number(inst, 3), out)) return 0;
        std::fill(out.begin(), out.end(), 0);
        fail(KPL_STOP_READ, number(inst, 3), inst.stops);
        return KPL_STOP_READ;
    }

    // ---- records and maps

    void emit(const ir::Inst& inst) {
        if (result_.records.size() >= state_.ring_room) return;
        SeenRecord record{static_cast<uint32_t>(inst.imm), {}, {}};
        for (uint32_t offset = 0; offset < inst.size; offset += 8) record.numbers[offset] = 0;
        for (const FieldStore& field : inst.fields) {
            if (const auto* value = std::get_if<ValueId>(&field.value)) record.numbers[field.offset] = values_[*value];
            const auto* str = std::get_if<StrRef>(&field.value);
            if (!str) continue;
            record.numbers.erase(field.offset);
            record.strings[field.offset] = string_at(*str);
        }
        result_.records.push_back(std::move(record));
    }

    // nullopt: a string is too long, the handler stops.
    std::optional<ByteVector> block(const std::vector<FieldStore>& fields, uint32_t size) {
        ByteVector bytes(size);
        for (const FieldStore& field : fields) {
            if (const auto* value = std::get_if<ValueId>(&field.value)) put_word(bytes, field.offset, values_[*value]);
            const auto* str = std::get_if<StrRef>(&field.value);
            if (!str) continue;
            std::string text = string_at(*str);
            if (text.size() > field.limit) {
                fail(KPL_STOP_TOO_LONG, 0, true);
                return {};
            }
            put_string(bytes, text, field.offset);
        }
        return bytes;
    }

    uint64_t map(const ir::Inst& inst) {
        SimMap& map = state_.maps[inst.imm];
        std::optional<ByteVector> value;
        if (inst.op == Opcode::MapSet && !(value = block(inst.value_fields, inst.value_size))) return 0;
        auto key = block(inst.fields, inst.size);
        if (!key) return 0;
        switch (inst.op) {
            case Opcode::AggAdd:
            case Opcode::MapAdd: {
                ByteVector& cell = map.cells[*key];
                cell.resize(map.value_size);
                put_word(cell, 0, word(cell, 0) + values_[inst.args[0]]);
                return 1;
            }
            case Opcode::MapGet: {
                auto found = map.cells.find(*key);
                bool there = found != map.cells.end();
                for (size_t i = 0; i < map.value_size; i++) slots_[inst.slot][i] = there ? found->second[i] : 0;
                return there;
            }
            case Opcode::MapSet: map.cells[*key] = *value; return 1;
            default: return map.cells.erase(*key);
        }
    }

    const ir::Function& function_;
    Simulator& state_;
    std::vector<uint64_t> values_;
    std::vector<uint32_t> bits_;  // by value: what the compiler thinks
    std::vector<ByteVector> slots_;
    std::optional<kpl_stop> stop_;
    Evaluation result_;
};

}  // namespace kpl::test
