// SPDX-License-Identifier: MIT
// Random straight IR for the code generator's tests: every opcode, and more values alive than there are
// registers. Its control flow is codegen_generate_flow.hpp's.
#pragma once

#include <random>

#include "codegen_ir.hpp"

namespace kpl::test {

// The machine that random functions run on: maps by key size and kind, memory at fixed addresses.
inline constexpr uint64_t good_memory = 0xffff888000100000, good_string = 0xffff888000200000,
                          good_user = 0x7f0000001000;
inline constexpr uint32_t data_words = 8, data_string = 8 * data_words, data_limit = 23;
inline constexpr uint32_t hash_value = 40;  // bytes: a number, a string of limit 23

struct MapShape {
    kpl_map_kind kind;
    uint32_t key_size;
};
inline constexpr MapShape map_shapes[] = {
    {KPL_MAP_COUNT, 0},  // 0: no key
    {KPL_MAP_SUM, 8},    // 1: a number
    {KPL_MAP_SUM, 24},   // 2: a string of limit 15
    {KPL_MAP_SUM, 40},   // 3: a number, a string of limit 15, a number
    {KPL_MAP_HASH, 8},   // 4: a number
    {KPL_MAP_HASH, 64},  // 5: a number, a string of limit 40, a number
    {KPL_MAP_SUM, 80},   // 6: ten numbers
};

class StraightGenerator {
  public:
    // Is the function as the builder's are: without critical edges, and without a field of the hit that
    // changes while the handler runs?
    bool as_built() const { return as_built_; }

  protected:
    explicit StraightGenerator(uint64_t seed) : random_(seed), b_(pick_kind()) {
        b_.function.budget = KPL_MAX_BUDGET;
        if (has_data()) b_.function.data_size = data_string + KPL_STR_SIZE(data_limit);
        for (int i = 0; i < 4; i++) scope_.push_back(number());
        numbers_ = b_.slot(32);
        for (int word = 0; word < 4; word++)
            b_.add({.op = Opcode::StoreSlot, .imm = word * 8, .slot = numbers_, .args = {any()}});
        strings_.push_back(b_.comm());
        strings_.push_back(literal());
    }

    void straight(uint32_t count) {
        for (uint32_t i = 0; i < count; i++) {
            switch (below(15)) {
                case 0:
                case 7: scope_.push_back(map()); break;
                case 1:
                case 2: scope_.push_back(string()); break;
                case 3:
                    if (chance(3)) emit();
                    break;
                case 4:
                    if (chance(4)) pressure();
                    break;
                case 5:
                case 6: scope_.push_back(memory()); break;
                case 8: scope_.push_back(loads_around_write()); break;
                case 9:
                    if (has_data()) keep_string();
                    break;
                default: scope_.push_back(number()); break;
            }
        }
    }

    uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
    bool chance(uint32_t one_in) { return below(one_in) == 0; }

    kpl_prog_kind pick_kind() { return static_cast<kpl_prog_kind>(random_() % KPL_PROG_TRACEPOINT); }
    // The register that handlers change is not read as those that none does.
    static constexpr int ax = 10;
    bool may_change() const { return b_.function.kind == KPL_PROG_PRE || b_.function.kind == KPL_PROG_RET; }
    bool has_data() const { return b_.function.kind == KPL_PROG_ENTRY || b_.function.kind == KPL_PROG_RET; }

    int64_t interesting() {
        constexpr int64_t edges[] = {0,
                                     1,
                                     -1,
                                     2,
                                     7,
                                     8,
                                     63,
                                     64,
                                     100,
                                     255,
                                     1000,
                                     INT32_MAX,
                                     INT32_MIN,
                                     int64_t{INT32_MAX} + 1,
                                     int64_t{INT32_MIN} - 1,
                                     UINT32_MAX,
                                     int64_t{UINT32_MAX} + 1,
                                     INT64_MAX,
                                     INT64_MIN,
                                     INT64_MIN + 1};
        switch (below(4)) {
            case 0: return static_cast<int64_t>(random_());
            case 1: return static_cast<int64_t>(uint64_t{1} << below(64)) * (chance(3) ? -1 : 1);
            default: return edges[below(std::size(edges))];
        }
    }
    ValueId constant() { return b_.constant(interesting()); }

    // A value that is there already, mostly a recent one.
    ValueId any() {
        if (scope_.empty() || chance(6)) return constant();
        size_t recent = std::min<size_t>(scope_.size(), 6);
        return chance(3) ? scope_[below(scope_.size())] : scope_[scope_.size() - 1 - below(recent)];
    }

    Cmp cmp() { return static_cast<Cmp>(below(10)); }

    // What a branch compares.
    std::pair<ValueId, ValueId> compared() {
        ValueId a = chance(3) ? b_.unary(chance(2) ? Opcode::SExt : Opcode::ZExt, any(), 32) : any();
        if (chance(8)) a = b_.op(chance(2) ? Opcode::Add : Opcode::Or, a, b_.unary(Opcode::ZExt, any(), 32));
        if (chance(4)) return {b_.op(Opcode::And, a, any()), b_.constant(0)};
        if (chance(4)) return {b_.compare(cmp(), a, any()), b_.constant(0)};
        if (chance(8)) return {constant(), a};
        return {a, chance(2) ? b_.constant(interesting()) : any()};
    }

    ValueId condition() {
        Cmp test = chance(3) ? Cmp::Eq : cmp();
        auto [a, c] = compared();
        return b_.compare(test, a, c);
    }

    ValueId hit_field() {
        constexpr size_t all[] = {offsetof(kpl_hit, func), offsetof(kpl_hit, addr), offsetof(kpl_hit, cpu),
                                  offsetof(kpl_hit, bad_addr), offsetof(kpl_hit, status)};
        if (b_.function.kind == KPL_PROG_RET && chance(2)) return b_.hit_field(offsetof(kpl_hit, ret));
        if (has_data() && chance(4)) return b_.hit_field(offsetof(kpl_hit, ret_addr));
        return b_.hit_field(all[below(std::size(all) - (as_built_ ? 2 : 0))]);
    }

    ValueId address() {
        if (chance(30)) return any();
        return b_.op(Opcode::Add, b_.constant(good_memory), b_.op(Opcode::And, any(), b_.constant(31)));
    }

    ValueId arithmetic() {
        auto op = static_cast<Opcode>(static_cast<int>(Opcode::Add) + below(15));
        ValueId a = chance(10) ? constant() : any();
        ValueId b = chance(2) ? constant() : any();
        if (op >= Opcode::Add && op <= Opcode::Sar) return b_.op(op, a, b);
        return b_.unary(op, a);
    }

    // A number, from anywhere but memory that handlers store to.
    ValueId number() {
        switch (below(10)) {
            case 0: return constant();
            case 1: return hit_field();
            case 2: {
                const int reg = static_cast<int>(below(21));
                return b_.reg(reg == ax ? 0 : reg);
            }
            case 3: return b_.unary(chance(2) ? Opcode::SExt : Opcode::ZExt, any(), 8 << below(3));
            case 4: return condition();
            case 5: {
                ValueId test = chance(3) ? any() : condition();
                return b_.select(test, any(), any());
            }
            case 6: {
                constexpr kpl_helper helpers[] = {KPL_H_now, KPL_H_pid, KPL_H_tid, KPL_H_cgroup};
                return b_.call(helpers[below(4)]);
            }
            default: return arithmetic();
        }
    }

    ValueId memory() {
        const int64_t word = 8 * below(4);
        if (may_change() && chance(6)) {
            if (chance(2)) return b_.add({.op = Opcode::LoadReg, .imm = 8 * ax});
            b_.add({.op = Opcode::StoreReg, .imm = 8 * ax, .args = {any()}});
            return any();
        }
        switch (below(has_data() ? 6 : 4)) {
            case 0: return b_.unary(Opcode::Read, address(), 1 << below(4));
            case 1: {
                ValueId value = b_.unary(Opcode::SoftRead, chance(3) ? any() : address(), 1 << below(4));
                scope_.push_back(value);
                return b_.add({.op = Opcode::StatusClear});
            }
            case 2: return b_.add({.op = Opcode::LoadSlot, .imm = word, .slot = numbers_});
            case 3: b_.add({.op = Opcode::StoreSlot, .imm = word, .slot = numbers_, .args = {any()}}); return any();
            case 4: return b_.load_data(8 * below(data_words));
            default: b_.store_data(8 * below(data_words), any()); return any();
        }
    }

    // A string that is made to be kept in instance data, with perhaps something in between.
    void keep_string() {
        const uint32_t limit = 1 + below(data_limit + 2);
        StrRef made = IrBuilder::in_slot(b_.string_slot(limit), limit);
        StrRef kept = IrBuilder::in_data(data_string, data_limit);
        if (chance(3))
            b_.call(KPL_H_comm, {ir::StrOperand{made}, ir::ConstOperand{limit}});
        else
            b_.string(KPL_H_str, made, b_.constant(good_string + below(8)));
        if (chance(3)) straight(1);
        if (chance(4)) strings_.push_back(made);
        b_.call(KPL_H_str_copy,
                {ir::HitOperand{}, ir::StrOperand{kept}, ir::ConstOperand{data_limit}, ir::StrOperand{made},
                 ir::ConstOperand{limit}},
                true);
    }

    // What is loaded on both sides of a write: each load keeps its own value.
    ValueId loads_around_write() {
        const int64_t word = 8 * below(3);
        auto load = [&](uint32_t from) {
            if (from == 0) return b_.hit_field(offsetof(kpl_hit, bad_addr));
            if (from == 1) return b_.load_data(word);
            return b_.add({.op = Opcode::LoadSlot, .imm = word, .slot = numbers_});
        };
        const uint32_t from = !as_built_ && chance(4) ? 0 : has_data() && chance(2) ? 1 : 2;
        ValueId before = load(from);
        scope_.push_back(before);
        if (from == 0) {
            b_.unary(Opcode::SoftRead, any(), 8);
            b_.add({.op = Opcode::StatusClear});
        } else if (from == 1) {
            b_.store_data(word, any());
        } else if (chance(2)) {
            b_.add({.op = Opcode::StoreSlot, .imm = word, .slot = numbers_, .args = {any()}});
        } else {
            read_block(static_cast<uint32_t>(word));
        }
        if (chance(2)) emit();
        return b_.op(Opcode::Xor, before, load(from));
    }

    ValueId read_block(uint32_t offset) {
        ValueId result =
            b_.call(KPL_H_read_mem,
                    {ir::HitOperand{}, ir::SlotOperand{numbers_, offset}, ir::ConstOperand{8}, address()}, chance(4));
        clear_status();
        return result;
    }

    StrRef literal() {
        constexpr const char* texts[] = {"",
                                         "x",
                                         "seven77",
                                         "eight888",
                                         "\xff\xfe\xfd\xfc\xfb",
                                         "fifteen-bytes-1",
                                         "this one is longer than fifteen bytes"};
        std::string text = texts[below(std::size(texts))];
        return IrBuilder::in_slot(b_.literal(text), static_cast<uint32_t>(text.size()));
    }

    StrRef any_string() {
        if (has_data() && chance(5)) return IrBuilder::in_data(data_string, data_limit);
        if (chance(4)) return literal();
        return strings_[below(strings_.size())];
    }

    ValueId string() {
        using Operands = std::vector<ir::Operand>;
        constexpr uint32_t limits[] = {15, 23, 40};
        uint32_t limit = chance(2) ? limits[below(3)] : 1 + below(40);
        StrRef to = IrBuilder::in_slot(b_.string_slot(limit), limit);
        if (chance(4)) to = strings_[0];  // written before
        limit = to.limit;
        StrRef from = any_string();
        auto constant = [](uint32_t n) { return ir::ConstOperand{n}; };
        ValueId result = 0;
        switch (below(7)) {
            case 0:
                b_.call(KPL_H_comm, Operands{ir::StrOperand{to}, constant(limit)});
                result = any();
                break;
            case 1: {
                bool bad = chance(20);
                result = b_.call(KPL_H_str,
                                 Operands{ir::HitOperand{}, ir::StrOperand{to}, constant(limit),
                                          bad ? any() : b_.constant(good_string + below(8))},
                                 true);
                break;
            }
            case 2:
                if (has_data()) to = IrBuilder::in_data(data_string, data_limit);
                result = b_.call(KPL_H_ustr,
                                 Operands{ir::HitOperand{}, ir::StrOperand{to}, constant(to.limit),
                                          b_.constant(good_user + below(8))},
                                 true);
                break;
            case 3:
                if (has_data() && chance(2)) to = IrBuilder::in_data(data_string, data_limit);
                result = b_.call(KPL_H_str_copy,
                                 Operands{ir::HitOperand{}, ir::StrOperand{to}, constant(to.limit),
                                          ir::StrOperand{from}, constant(from.limit)},
                                 chance(8));
                break;
            case 4:
            case 5: {
                StrRef other = any_string();
                return b_.call(
                    chance(2) ? KPL_H_str_eq : KPL_H_str_starts,
                    Operands{ir::StrOperand{from}, constant(from.limit), ir::StrOperand{other}, constant(other.limit)});
            }
            default: return read_block(8 * below(3));
        }
        clear_status();
        if (to.where == StrRef::Where::Slot) strings_.push_back(to);
        return result;
    }

    // Behind a call that fails softly, as the next one that stops would take its status for its own.
    void clear_status() {
        if (!b_.function.insts.back().stops) b_.add({.op = Opcode::StatusClear});
    }

    FieldStore field(uint32_t offset) {
        if (chance(8)) return {offset, std::monostate{}, 0};
        return {offset, any(), 0};
    }
    FieldStore string_field(uint32_t offset, uint32_t limit) {
        if (chance(10)) return {offset, std::monostate{}, limit};
        StrRef str = chance(3) ? strings_[0] : any_string();
        if (str.limit > limit && !chance(5)) str = b_.comm(limit);
        return {offset, str, limit};
    }

    std::vector<FieldStore> key(int map) {
        switch (map) {
            case 0: return {};
            case 1:
            case 4: return {field(0)};
            case 2: return {string_field(0, 15)};
            case 3: return {field(0), string_field(8, 15), field(32)};
            case 5: return {field(0), string_field(8, 40), field(56)};
            default: {
                std::vector<FieldStore> fields;
                for (uint32_t i = 0; i < 10; i++)
                    if (!chance(8)) fields.push_back(field(i * 8));
                return fields;
            }
        }
    }

    ValueId map() {
        auto map = static_cast<int>(below(std::size(map_shapes)));
        uint32_t key_size = map_shapes[map].key_size;
        if (map_shapes[map].kind != KPL_MAP_HASH) return b_.agg_add(map, key_size, key(map), any());
        ir::Inst inst{.op = Opcode::MapGet, .imm = map, .size = key_size, .fields = key(map)};
        switch (below(4)) {
            case 0: {
                inst.slot = b_.slot(hash_value);
                SlotId slot = inst.slot;
                strings_.push_back({StrRef::Where::Slot, slot, 23, 8});  // in the copied value
                scope_.push_back(b_.add(std::move(inst)));
                scope_.push_back(b_.add({.op = Opcode::LoadSlot, .imm = 0, .slot = slot}));
                return b_.add({.op = Opcode::LoadSlot, .imm = 16, .slot = slot});
            }
            case 1:
                inst.op = Opcode::MapSet;
                inst.value_size = hash_value;
                inst.value_fields = {field(0), string_field(8, 23)};
                break;
            case 2:
                inst.op = Opcode::MapAdd;
                inst.args = {any()};
                break;
            default: inst.op = Opcode::MapDelete; break;
        }
        return b_.add(std::move(inst));
    }

    void emit() {
        std::vector<FieldStore> fields;
        if (chance(3)) scope_.push_back(b_.add({.op = Opcode::LoadSlot, .imm = 8, .slot = numbers_}));
        const uint32_t words = 1 + below(8);
        for (uint32_t word = 0; word < words; word++) {
            switch (below(8)) {
                case 0: break;
                case 1: fields.push_back({word * 8, std::monostate{}, chance(2) ? 15u : 0u}); break;
                case 2:
                case 3: {
                    StrRef str = any_string();
                    fields.push_back({word * 8, str, str.limit});
                    break;
                }
                default: fields.push_back({word * 8, any(), 0}); break;
            }
        }
        b_.emit(below(1000), words * 8, std::move(fields));
    }

    // Many values that are all alive at once, across a call.
    void pressure() {
        std::vector<ValueId> values;
        for (uint32_t i = 0; i < 6 + below(10); i++) values.push_back(arithmetic());
        if (chance(2)) b_.call(KPL_H_now);
        ValueId sum = any();
        for (ValueId value : values) sum = b_.op(chance(2) ? Opcode::Xor : Opcode::Sub, sum, value);
        scope_.push_back(sum);
    }

    std::mt19937_64 random_;
    IrBuilder b_;
    const bool as_built_ = chance(2);
    std::vector<ValueId> scope_;
    std::vector<StrRef> strings_;
    SlotId numbers_ = 0;
};

}  // namespace kpl::test
