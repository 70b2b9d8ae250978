// SPDX-License-Identifier: MIT
// Lists: tables whose elements are gathered one by one, into one field of a record, a key or a value.
//
// Whether a table is a list shows only later, when another table takes it or a loop numbers its elements: it
// is marked by the place where it is made, and the next round makes it one.
#include <algorithm>

#include "ir/build/builder.hpp"

namespace kpl::builder {

using namespace ir;

namespace {

// struct kpl_str's `reserved`: how many elements there are, and above it how many there may be.
constexpr int64_t count_shift = 32, most_shift = 48, count_mask = 0xffff;

constexpr int64_t most_times = 4096;

// How often a loop runs at most, by for_next()'s rules.
int64_t times_of(const Value& from, const Value& to, const Value& step) {
    const bool is_unsigned = from.type.is_unsigned, up = is_unsigned || *step.constant > 0;
    const auto first = static_cast<uint64_t>(*from.constant), last = static_cast<uint64_t>(*to.constant);
    const bool over = is_unsigned ? first > last : up ? *from.constant > *to.constant : *from.constant < *to.constant;
    if (over) return 1;  // not at all
    const uint64_t left = up ? last - first : first - last;
    const auto stride = static_cast<uint64_t>(*step.constant), size = up ? stride : 0 - stride;
    return static_cast<int64_t>(std::min<uint64_t>(left / size, most_times - 1)) + 1;
}

// times_here() of one function alone, whose slots are these.
std::optional<int64_t> times_in(const Frame& frame, uint32_t here, const Values& slots) {
    int64_t times = 1;
    const auto& code = frame.proto->code;
    for (uint32_t pc = here; pc < code.size(); pc++) {
        // A jump back to here or before closes a loop around this place.
        if (op_modes(code[pc].op).cd != Mode::Jump || code[pc].op == Op::LOOP) continue;
        const uint32_t target = pc + 1 + static_cast<uint32_t>(code[pc].jump());
        if (target > here) continue;
        const auto head = frame.heads.find(frame.cfg->block_of[target]);
        if (code[pc].op != Op::FORL || head == frame.heads.end()) return std::nullopt;
        const uint32_t slot = code[pc].a;
        const Value* from = nullptr;
        for (const LoopVar& var : head->second.vars)
            if (var.slot == slot && !var.entering.empty()) from = &var.entering[0];
        const Value &to = slots[slot + 1], &step = slots[slot + 2];
        if (!from || !from->constant || !to.constant || !step.constant || !*step.constant) return std::nullopt;
        times = std::min(times * times_of(*from, to, step), most_times);
    }
    return times;
}

}  // namespace

std::string Builder::list_site() const { return frame_->key + "#" + std::to_string(pc_); }

Value Builder::new_list(const std::string& site, const ListSite& list) {
    Value v;
    v.type = list_of(list.element, list.bytes());
    v.str = {.index = w_.new_slot(KPL_STR_SIZE(v.type.limit)), .limit = v.type.limit};
    v.field = site;
    w_.store_slot_in(w_.block(), v.str.index, 0, w_.constant(static_cast<int64_t>(list.most()) << most_shift));
    return v;
}

void Builder::make_list(const Value& record, const std::string& into) {
    records_used_.insert(record.index);
    const RecordState* made = content(record);
    if (!made) return;
    if (!made->fields.empty()) {
        fail(Err::NESTED_TABLE, record_name(record.index), into);
        return;
    }
    if (s_.lists.emplace(made->site, ListSite{}).second) s_.changed = true;
}

// How often the code here runs at most: once, or what the loops around it, and around the calls that lead here, make of
// it with constant ends; none: not known.
std::optional<uint32_t> Builder::times_here() const {
    std::optional<int64_t> times = times_in(*frame_, pc_, cur_.slots);
    for (const Frame* frame = frame_; times && frame->parent; frame = frame->parent) {
        const auto calls = times_in(*frame->parent, frame->call_pc, *frame->call_slots);
        times = calls ? std::optional(std::min(*times * *calls, most_times)) : std::nullopt;
    }
    return times;
}

Value Builder::list_length(const Value& list) {
    const ValueId header = list.str.where == StrRef::Where::Data ? w_.load_data(list.str.index)
                                                                 : w_.load_slot(list.str.index, list.str.offset);
    const ValueId count = w_.binary(Opcode::Shr, header, w_.constant(count_shift));
    return number(w_.binary(Opcode::And, count, w_.constant(count_mask)), int_type);
}

// list[n] = x, where n is the number of the next element.
void Builder::list_set(const Value& list, const Value& index, const Value& to) {
    if (!side_effect("a list's element") || index.is_poison()) return;
    if (!s_.lists.contains(list.field)) {  // copied from a map, or kept in p.data
        fail(Err::LIST_READ);
        return;
    }
    if (!index.is(Kind::Int)) {
        fail(Err::LIST_INDEX);
        return;
    }
    // What is cut leaves its number behind: only as long as the list is open must they agree.
    const ValueId header = w_.load_slot(list.str.index, 0);
    const ValueId count =
        w_.binary(Opcode::And, w_.binary(Opcode::Shr, header, w_.constant(count_shift)), w_.constant(count_mask));
    const ValueId open = w_.compare(Cmp::ULt, count, w_.binary(Opcode::Shr, header, w_.constant(most_shift)));
    const ValueId elsewhere = w_.compare(Cmp::Ne, w_.binary(Opcode::Sub, num(index), w_.constant(1)), count);
    stop_if(Cmp::Ne, w_.binary(Opcode::And, open, elsewhere), w_.constant(0), KPL_STOP_LIST, list.text);
    list_grow(list, to, list_site());
    if (index.constant) grow_by_constants(list, *index.constant + 1);
}

// A constructor's constants come before its other elements: they wait until all in front of them are there.
void Builder::grow_by_constants(const Value& list, int64_t next) {
    auto& waiting = list_constants_[list.field].constants;
    for (auto it = waiting.find(next); it != waiting.end(); it = waiting.find(++next)) {
        const Value constant = it->second;
        waiting.erase(it);
        list_grow(list, constant, fmt::format("{}#{}", list_site(), next));
    }
}

void Builder::list_template(const Value& list, std::map<int64_t, Value> constants) {
    list_constants_[list.field] = {w_.line(), std::move(constants)};
    grow_by_constants(list, 1);
}

void Builder::list_grow(const Value& list, const Value& to, const std::string& at) {
    if (!usable(to, "a list's element")) return;
    if (to.is(Kind::Record)) {
        records_used_.insert(to.index);
        fail(Err::NESTED_TABLE, record_name(to.index), "a list");
        return;
    }
    if (is_bytes(to.type) && !to.is(Kind::String)) {
        fail(Err::STORE_KIND, describe(to), "a list");
        return;
    }
    const std::optional<Type> type = storable(to, "a list");
    if (!type) return;
    ListSite& site = s_.lists.at(list.field);
    const std::optional<Type> wide = widen(site.element, *type);
    if (!wide) {
        fail(Err::LIST_MIXED, describe(to), describe(site.element));
        return;
    }
    const std::optional<uint32_t> times = times_here();
    auto [grows, added] = site.grows.try_emplace(at, times);
    if (!(*wide == site.element) || added || grows->second != times) s_.changed = true;
    grows->second = times;
    site.element = *wide;
    if (to.is(Kind::String)) {
        const StrRef text = str_of(to);
        w_.call(KPL_H_list_str,
                {HitOperand{}, StrOperand{list.str}, ConstOperand{list.str.limit}, StrOperand{text},
                 ConstOperand{text.limit}},
                false);
    } else {
        const ValueId n = num(to);
        w_.call(KPL_H_list_num, {HitOperand{}, StrOperand{list.str}, ConstOperand{list.str.limit}, n}, false);
    }
}

}  // namespace kpl::builder
