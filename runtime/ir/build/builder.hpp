// SPDX-License-Identifier: MIT
// One handler: LuaJIT bytecode interpreted over typed values, which leaves SSA behind.
//
// Blocks are visited in reverse post order with the state of their slots; where paths meet, values are merged
// (join.cpp). Captured Lua functions are interpreted in place. The methods are spread over files by concept;
// this header says which.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/build/cfg.hpp"
#include "ir/build/shapes.hpp"
#include "ir/build/value.hpp"
#include "ir/build/writer.hpp"

namespace kpl::builder {

using Values = std::vector<Value>;

// A way into a block: the IR block that will jump there, and what holds on the way.
struct Edge {
    ir::BlockId from;
    State state;
    SourceLoc at;  // where it comes from
};

// A variable that a loop assigns: its phi, and what came in from before the loop.
struct LoopVar {
    uint32_t slot;
    Value value;
    std::vector<Value> entering;
};

struct LoopHead {
    ir::BlockId block;
    std::vector<LoopVar> vars;
    std::map<uint32_t, RecordState> records;
    std::set<std::string> stored;
};

struct ReturnEdge {
    ir::BlockId from;
    State state;
    std::vector<Value> values;
    SourceLoc at;
};

// The arguments of a `try` call: reads there do not stop the handler.
struct SoftRegion {
    uint32_t first, call;  // pcs: [first, call)
    size_t insts, slots;   // of the function when the region began: what is older was computed outside of it
};

// One Lua function being interpreted: the handler itself, or a function that it calls.
struct Frame {
    std::shared_ptr<const FunctionValue> function;
    std::shared_ptr<const Proto> proto;
    const Cfg* cfg = nullptr;
    Frame* parent = nullptr;
    uint32_t call_pc = 0;  // of the parent, whose slots are these
    const Values* call_slots = nullptr;
    std::string key;            // names this frame in UnitState::hints
    bool soft = false;          // called within a try
    uint32_t first_record = 0;  // records with lower numbers belong to callers
    std::vector<std::vector<Edge>> incoming;
    std::vector<bool> entered;
    std::map<uint32_t, LoopHead> heads;
    std::vector<ReturnEdge> returns;
    std::vector<SoftRegion> soft_regions;
};

// A test with two outcomes.
struct Condition {
    std::optional<bool> known{};
    ir::Cmp cmp = ir::Cmp::Ne;
    ir::ValueId a = ir::no_value, b = ir::no_value;
};

class Builder {
  public:
    Builder(UnitState& shared, size_t handler);
    ir::Function run();

  private:
    friend struct OpTable;
    friend struct BuiltinTable;
    using OpHandler = void (Builder::*)(const Insn&);

    // ---- handler.cpp: parameters, prologue, end
    void enter_handler(Frame& frame);
    Values parameters(const SlotSet& live);
    Value parameter(const Signature* signature, uint32_t index);
    void handler_return(const Values& values);
    void note_entry_stores();
    void check_records();

    // ---- flow.cpp: blocks and edges
    void run_frame(Frame& frame, State entry);
    void run_block(Frame& frame, uint32_t block);
    void enter_block(Frame& frame, uint32_t block);
    State merge_states(Frame& frame, uint32_t block, std::vector<Edge>& edges, ir::BlockId into, LoopHead* head);
    static std::set<std::string> on_every_path(const std::vector<Edge>& edges, std::set<std::string> State::*names);
    void merge_records(Frame& frame, const std::vector<Edge>& edges, ir::BlockId into, State& merged);
    void go_to(uint32_t pc, ir::BlockId from, State state);
    static void drop_records(const Frame& frame, State& state);
    void close_loop(Frame& frame, uint32_t block, ir::BlockId from, State state);
    void save_strings(const LoopHead& head, ir::BlockId from, State& state);
    bool fits_loop(const Frame& frame, uint32_t block, const LoopVar& var, const Value& v);
    std::pair<ir::BlockId, ir::BlockId> fork(ir::Cmp cmp, ir::ValueId a, ir::ValueId b);
    void branch_on(const Condition& c, State yes, State no, uint32_t yes_pc, uint32_t no_pc);
    void stop_if(ir::Cmp cmp, ir::ValueId a, ir::ValueId b, kpl_stop reason, const std::string& what);

    // ---- join.cpp: one type for the values of several paths
    struct Meeting {
        std::vector<ir::BlockId> from;
        std::vector<Value> values;
        ir::BlockId into;
        bool force = false;  // a loop's head: more edges will come
        const Type* hint = nullptr;
        std::string name;  // of the variable, for messages; may be empty
    };
    Value merge(const Meeting& m);
    Value merge_in_place(const Meeting& m, const std::vector<Value>& known, const Type& type);
    std::optional<Type> joined_type(const std::vector<Value>& values, const Type* hint, const std::string& name);
    std::optional<Type> joined_integers(const std::vector<Value>& values, const Type* hint, const std::string& name);
    bool same_pointee(TypeId a, TypeId b);
    bool becomes_pointer(Type& type);
    ir::ValueId number_in(ir::BlockId block, const Value& v);
    ir::ValueId presence_in(ir::BlockId block, const Value& v);
    void copy_string_in(ir::BlockId block, const ir::StrRef& to, const Value& v);
    static bool mergeable(Kind kind);

    // ---- ops.cpp: the table of opcodes, and the simple ones
    void step(const Insn& insn);
    void assign(uint32_t slot, Value v);
    const Value& slot(uint32_t n) const { return cur_.slots[n]; }
    std::string slot_name(uint32_t n) const;  // the variable's name, or how the value was reached
    Value captured(const Captured& c, const std::string& name);
    Value upvalue(uint32_t index);
    Value global(const std::string& name);
    Value number_constant(double d);
    Value gc_constant(uint32_t index);
    void op_mov(const Insn&);
    void op_kpri(const Insn&);
    void op_kshort(const Insn&);
    void op_knum(const Insn&);
    void op_kgc(const Insn&);
    void op_knil(const Insn&);
    void op_uget(const Insn&);
    void op_uset(const Insn&);
    void op_gget(const Insn&);
    void op_gset(const Insn&);
    void op_fnew(const Insn&);
    void op_arith(const Insn&);
    void op_not(const Insn&);
    void op_unm(const Insn&);
    void op_len(const Insn&);
    void op_ret(const Insn&);
    void op_retm(const Insn&);
    void op_jump(const Insn&);
    void op_nothing(const Insn&);
    void op_refused(const Insn&);
    void do_return(Values values);

    // ---- branches.cpp: comparisons, tests and numeric for
    void op_compare(const Insn&);
    void op_equal(const Insn&);
    void op_test(const Insn&);
    void op_for_init(const Insn&);
    void op_for_loop(const Insn&);
    enum class Known : uint8_t { True, False, Nil, NotNil };  // what a test found out
    static void refine(State& state, const Value& tested, Known known);
    Condition either_way();
    static bool always_true(const Value& v);
    bool keeps_tested(uint32_t slot, uint32_t target) const;
    std::optional<Condition> truth(const Value& v, const std::string& name);
    bool for_operands(const Insn&);
    void for_test(const Insn&, const Condition& go_on, State state);
    void for_next(const Insn&, bool upward, State state);
    std::optional<int64_t> for_step(const Insn& i) const { return cur_.slots[i.a + 2u].constant; }

    // ---- compare.cpp
    std::optional<Condition> compare(ir::Cmp cmp, const Value& a, const Value& b);
    std::optional<Condition> compare_integers(ir::Cmp cmp, const Value& a, const Value& b);
    std::optional<Condition> equal(const Value& a, const Value& b, const std::string& name);  // not negated
    std::optional<Condition> equal_if_there(const Value& a, const Value& b, const std::string& name);
    ir::ValueId null_if_nil(const Value& pointer);
    std::optional<Condition> equal_nil(const Value& v, const std::string& name);
    std::optional<Condition> equal_bools(const Value& a, const Value& b);
    std::optional<Condition> equal_strings(const Value& a, const Value& b);
    Value as_bool(const Condition& c);

    // ---- arith.cpp
    enum class Arith : uint8_t { Add, Sub, Mul, Div, Mod };
    Value arith(Arith op, const Value& a, const Value& b);
    Value integer_arith(Arith op, const Value& a, const Value& b);
    Value pointer_arith(Arith op, const Value& a, const Value& b);
    Value divide(Arith op, const Value& a, const Value& b, bool is_unsigned);
    Value negate(const Value& v);
    Value length(const Value& v);

    // ---- need.cpp: what a use asks of a value; each reports what is wrong and yields false or no_value
    template <class... Args>
    Value fail(Err id, const Args&... args) {
        s_.diag.error(w_.line(), id, args...);
        return poison();
    }
    bool usable(const Value& v, const std::string& use);  // neither poison, nil nor nil-able
    bool need_int(const Value& v, const std::string& use);
    std::optional<int64_t> need_constant(const Value& v, const std::string& use);
    bool need_string(const Value& v, const std::string& use);
    bool side_effect(const std::string& what);  // refused in a try
    template <class T>
    std::optional<T> ask(Result<T> result) {
        if (result.ok()) return std::move(result).value();
        s_.diag.add_error(w_.line(), result.error().text);
        return std::nullopt;
    }
    std::string describe(const Value& v);
    // Behind "is not defined": what a name of no meaning here may have been meant for. Empty: no idea.
    static std::string meant_by(const std::string& name);
    std::string near_members(TypeId type, const std::string& name);
    std::string record_name(uint32_t id) const;
    RecordState* content(const Value& table);
    std::string describe(const Type& t);
    ir::ValueId num(const Value& v) { return number_in(w_.block(), v); }
    bool soft() const;

    // ---- fields.cpp: the kernel's C types
    struct Address {
        ir::ValueId base;
        int64_t offset;
        Space space;
    };
    Value load(const Address& at, TypeId type, const Field* bits, const std::string& path);
    Value load_number(const Address& at, const TypeInfo& t, const Field* bits, const std::string& path);
    ir::ValueId read(uint32_t size, const Address& at, const std::string& what);
    ir::ValueId address_of(const Value& v);  // Pointer or Memory
    ir::ValueId offset_by(ir::ValueId base, int64_t offset);
    Value member(const Value& v, const std::string& name, const std::string& path);
    Value element(const Value& v, const Value& index, const std::string& path);
    Value from_register(ir::ValueId raw, TypeId type, const std::string& name);
    Value extend(ir::ValueId raw, uint32_t size, bool is_signed);
    std::optional<uint32_t> size_of(TypeId type);

    // ---- hit.cpp: p and what hangs on it
    Value hit_member(const std::string& name);
    Value compat();
    Value hit_field(uint32_t offset, Type type);
    Value reg(uint16_t offset, Type type);
    Value args_member(const std::string& name);
    Value args_number(const Value& index);
    Value argument(uint32_t index, const std::string& what);
    Value passed_value(uint32_t index, const std::string& what);
    Value user_argument(uint32_t index);
    Value marked_argument(uint32_t index, const std::string& what);
    Value regs_member(const std::string& name);
    // change.cpp: their changes
    bool may_change(const std::string& what, bool in_ret, uint32_t right);
    std::optional<ir::ValueId> fitting(const Value& to, TypeId type, const std::string& what);
    void store_reg(uint16_t offset, ir::ValueId value);
    void hit_set(const std::string& name, const Value& to);
    void regs_set(const std::string& name, const Value& to);
    void arg_set(uint32_t index, TypeId type, const std::string& what, const Value& to);
    void args_number_set(const Value& index, const Value& to);
    void args_member_set(const std::string& name, const Value& to);
    Value data_load(const std::string& name);
    void data_store(const std::string& name, const Value& v);
    Value stored_field(const Type& type, ir::ValueId number, ir::StrRef str, ir::ValueId presence);
    DataShape* data_shape();

    // ---- index.cpp: a.b, a[b] and their assignments, by what a is
    void op_tgets(const Insn&);
    void op_tgetb(const Insn&);
    void op_tgetv(const Insn&);
    void op_tsets(const Insn&);
    void op_tsetb(const Insn&);
    void op_tsetv(const Insn&);
    void op_tnew(const Insn&);
    void op_tdup(const Insn&);
    void op_tsetm(const Insn&);
    Value get_named(const Value& v, const std::string& name, const std::string& path);
    Value get_indexed(const Value& v, const Value& index, const std::string& path);
    void set_named(const Value& v, const std::string& name, const Value& to);
    void set_indexed(const Value& v, const Value& index, const Value& to);
    Value record_get(const Value& v, const Value& key);
    void record_set(const Value& v, const Value& key, const Value& to);
    Value new_record(uint32_t to);

    // ---- lists.cpp: tables that gather elements
    std::string list_site() const;
    Value new_list(const std::string& site, const ListSite& list);
    void make_list(const Value& record, const std::string& into);
    void list_set(const Value& list, const Value& index, const Value& to);
    void list_grow(const Value& list, const Value& to, const std::string& at);
    void list_template(const Value& list, std::map<int64_t, Value> constants);
    void grow_by_constants(const Value& list, int64_t next);
    Value list_length(const Value& list);
    std::optional<uint32_t> times_here() const;

    // ---- calls.cpp
    void op_call(const Insn&);
    void op_callm(const Insn&);
    void op_callt(const Insn&);
    void op_callmt(const Insn&);
    Values call_args(const Insn& insn, uint32_t fixed, bool open);
    void set_results(const Insn& insn, Values results);
    Values call(const Value& callee, Values args, const std::string& name);
    Values call_builtin(const std::string& name, Values args);
    Values inline_call(const Value& callee, Values args);
    Values merge_returns(Frame& child, Values caller_slots);
    void begin_try(uint32_t slot);

    // ---- builtins.cpp, builtins_ffi.cpp, builtins_bit.cpp
    struct BuiltinRow {
        const char* name;
        uint8_t min, max;  // arguments; max 255: any number
        Values (Builder::*lower)(const BuiltinRow&, Values&);
        int param;
    };
    static const BuiltinRow* find_builtin(const std::string& name);
    static bool is_builtin_table(const std::string& name);
    Values b_number(const BuiltinRow&, Values&);
    Values b_cpu(const BuiltinRow&, Values&);
    Values b_task(const BuiltinRow&, Values&);
    Values b_comm(const BuiltinRow&, Values&);
    Values b_str(const BuiltinRow&, Values&);
    Values b_buf(const BuiltinRow&, Values&);
    Values b_starts(const BuiltinRow&, Values&);
    Values b_stack(const BuiltinRow&, Values&);
    Values b_sym(const BuiltinRow&, Values&);
    Values b_usym(const BuiltinRow&, Values&);
    Values b_path(const BuiltinRow&, Values&);
    // builtins_text.cpp: numbers that user space makes text of
    Values b_named(const BuiltinRow&, Values&);
    Values b_strftime(const BuiltinRow&, Values&);
    Values b_enumname(const BuiltinRow&, Values&);
    Values b_ntop(const BuiltinRow&, Values&);
    Values b_swap_bytes(const BuiltinRow&, Values&);
    Values b_kaddr(const BuiltinRow&, Values&);
    Values b_kvar(const BuiltinRow&, Values&);
    Value shown_by(Naming naming, const Value& number, const char* function);
    std::optional<uint64_t> kernel_address(const Value& name, const char* function);
    Values b_printf(const BuiltinRow&, Values&);
    Values b_print(const BuiltinRow&, Values&);
    Values b_exit(const BuiltinRow&, Values&);
    Values b_override(const BuiltinRow&, Values&);
    Values b_try(const BuiltinRow&, Values&);
    Values b_tonumber(const BuiltinRow&, Values&);
    Values b_refused(const BuiltinRow&, Values&);
    Values b_cast(const BuiltinRow&, Values&);
    Values b_sizeof(const BuiltinRow&, Values&);
    Values b_offsetof(const BuiltinRow&, Values&);
    Values b_bit_fold(const BuiltinRow&, Values&);
    Values b_bit_not(const BuiltinRow&, Values&);
    Values b_bit_shift(const BuiltinRow&, Values&);
    Values b_bit_rotate(const BuiltinRow&, Values&);
    Values b_bit_swap(const BuiltinRow&, Values&);
    Values b_bit_tobit(const BuiltinRow&, Values&);
    Value cast(TypeId type, bool user, const Value& v);
    bool in_space(const Value& v, Space space, const char* function);
    Value binary(ir::Opcode op, const Value& a, const Value& b, bool is_unsigned);

    // strings
    Value new_string(uint32_t limit);
    ir::StrRef str_of(const Value& v);
    Value string_literal(const std::string& bytes);
    std::optional<uint32_t> need_limit(const Values& args, size_t index, const char* name, uint32_t otherwise);

    // ---- records.cpp: what goes into events, keys and values
    Values emit_event(const Value& event, const Values& args);
    Values emit_printf(const std::string& format, bool is_print, const Values& values);
    std::optional<Type> storable(const Value& v, const std::string& use);
    bool store_shape(RecordShape& shape, const std::string& name, const Value& v, const std::string& use);
    using Named = std::map<std::string, Value>;
    bool store_record(RecordShape& shape, const Named& record,
                      const std::function<std::string(const std::string&)>& use);
    static std::string fields_text(const RecordShape& shape);
    std::vector<ir::FieldStore> field_stores(const Layout& layout, const Named& values);
    bool check_format(std::string& format, const Values& values);
    bool check_conversion(char conversion, const Value& v, size_t index);

    // ---- maps.cpp
    Value map_get(const Value& map, const Value& key);
    void map_set(const Value& map, const Value& key, const Value& value);
    Values map_method(const Value& receiver, const std::string& name, const Values& args);
    Values map_add(const Value& map, const Values& args);
    Values agg_add(const Value& cell, const Values& args);
    std::optional<Named> key_fields(uint32_t map, const Value& key);
    bool set_form(Form& form, bool table, Err conflict, uint32_t map);
    Value snapshot_field(const Value& snapshot, const std::string& name);
    bool reads_map(ir::ValueId value, uint32_t map, int depth) const;
    std::string map_name(uint32_t map) const;

    UnitState& s_;
    const size_t handler_;
    const HandlerDecl& decl_;
    ir::Function fn_;
    Writer w_{fn_};
    State cur_;
    Frame* frame_ = nullptr;
    uint32_t pc_ = 0;
    bool alive_ = true;
    uint32_t next_record_ = 0;
    struct RecordMade {
        SourceLoc at;
        std::string name;  // of the local that it is made for; or empty
    };
    std::map<uint32_t, RecordMade> records_made_;
    std::set<uint32_t> records_used_;
    std::map<ir::SlotId, uint32_t> maps_read_;  // by the slot that a value of map() was copied to
    struct Waiting {
        SourceLoc at;
        std::map<int64_t, Value> constants;
    };
    std::map<std::string, Waiting> list_constants_;  // by site: what a constructor adds later
};

}  // namespace kpl::builder
