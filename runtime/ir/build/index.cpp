// SPDX-License-Identifier: MIT
// a.b, a[b] and their assignments, by what `a` is.
#include "ir/build/builder.hpp"

namespace kpl::builder {

using namespace ir;

namespace {

const std::string& string_operand(const Proto& proto, uint32_t index) { return std::get<std::string>(proto.gc[index]); }

std::string index_text(const Value& index) {
    if (index.is(Kind::Int) && index.constant) return std::to_string(*index.constant);
    return index.text.empty() || index.literal ? "…" : index.text;
}

bool is_user_method(const std::string& name) {
    for (const char* method : {"value", "pairs", "top", "clear", "get", "set", "delete"})
        if (name == method) return true;
    return false;
}

bool is_ffi(const TableRef& table) {
    const Captured cast = table.get("cast");
    const auto* builtin = std::get_if<BuiltinRef>(&cast);
    return builtin && builtin->name == "ffi.cast";
}

}  // namespace

void Builder::op_tgets(const Insn& i) {
    assign(i.a, get_named(slot(i.b), string_operand(*frame_->proto, i.c), slot_name(i.b)));
}

void Builder::op_tgetb(const Insn& i) { assign(i.a, get_indexed(slot(i.b), int_constant(i.c), slot_name(i.b))); }

void Builder::op_tgetv(const Insn& i) { assign(i.a, get_indexed(slot(i.b), slot(i.c), slot_name(i.b))); }

void Builder::op_tsets(const Insn& i) { set_named(slot(i.b), string_operand(*frame_->proto, i.c), slot(i.a)); }

void Builder::op_tsetb(const Insn& i) { set_indexed(slot(i.b), int_constant(i.c), slot(i.a)); }

void Builder::op_tsetv(const Insn& i) { set_indexed(slot(i.b), slot(i.c), slot(i.a)); }

Value Builder::get_named(const Value& target, const std::string& name, const std::string& path) {
    const Value v = target;
    switch (v.kind()) {
        case Kind::Undefined:
        case Kind::Poison: return poison();
        case Kind::Hit: return hit_member(name);
        case Kind::Args: return args_member(name);
        case Kind::Regs: return regs_member(name);
        case Kind::Data: return data_load(name);
        case Kind::Table:
            if (name == "C" && is_ffi(*v.table)) return named(Kind::Builtin, "ffi.C");
            return captured(v.table->get(name), v.text.empty() ? name : v.text + "." + name);
        case Kind::Builtin:
            if (v.text == "ffi.C") return global(name);
            if (is_builtin_table(v.text)) return named(Kind::Builtin, v.text + "." + name);
            break;
        case Kind::Map:
            if (name == "add") return named(Kind::Method, name);
            if (is_user_method(name)) return fail(Err::USER_METHOD, name);
            return get_indexed(v, string_literal(name), path);
        case Kind::Cell:
            if (name == "add") return named(Kind::Method, name);
            return fail(Err::CELL_MEMBER, name);
        case Kind::Event: return fail(Err::EVENT_MEMBER, name);
        case Kind::List: return fail(Err::LIST_READ);
        case Kind::Record: {
            Value field = record_get(v, string_literal(name));
            if (field.type.nilable && !field.literal) field.text = path + "." + name;
            return field;
        }
        case Kind::Snapshot: return usable(v, "'." + name + "'") ? snapshot_field(v, name) : poison();
        case Kind::Pointer:
        case Kind::Memory: return usable(v, "'." + name + "'") ? member(v, name, path) : poison();
        case Kind::String: return fail(Err::STRING_METHOD, name);
        default: break;
    }
    if (!usable(v, "'." + name + "'")) return poison();
    if (v.is(Kind::Int)) return fail(Err::MEMBER_OF_INT, name, path.empty() ? "x" : path);
    return fail(Err::MEMBER, describe(v), name);
}

Value Builder::get_indexed(const Value& target, const Value& index, const std::string& path) {
    const Value v = target;
    if (v.is_poison() || index.is_poison()) return poison();
    switch (v.kind()) {
        case Kind::ArgNumbers: return args_number(index);
        case Kind::Map: return map_get(v, index);
        case Kind::Record: return record_get(v, index);
        case Kind::List: return fail(Err::LIST_READ);
        case Kind::Table: {
            const std::string name = fmt::format("{}[{}]", v.text, index_text(index));
            if (index.literal) return captured(v.table->get(index.text), name);
            if (index.is(Kind::Int) && index.constant) return captured(v.table->get(*index.constant), name);
            return fail(Err::TABLE_INDEX, v.text);
        }
        case Kind::Pointer:
        case Kind::Memory:
            if (!usable(v, "an index")) return poison();
            if (index.literal) return member(v, index.text, path);
            return element(v, index, fmt::format("{}[{}]", path.empty() ? "…" : path, index_text(index)));
        default: break;
    }
    if (index.literal) return get_named(v, index.text, path);
    if (!usable(v, "an index")) return poison();
    return fail(Err::INDEX, describe(v));
}

void Builder::set_named(const Value& target, const std::string& name, const Value& to) {
    const Value v = target;
    switch (v.kind()) {
        case Kind::Undefined:
        case Kind::Poison: return;
        case Kind::Data: data_store(name, to); return;
        case Kind::Record: record_set(v, string_literal(name), to); return;
        case Kind::List: list_set(v, string_literal(name), to); return;
        case Kind::Map: map_set(v, string_literal(name), to); return;
        case Kind::Snapshot: fail(Err::SNAPSHOT_SET, map_name(v.type.map)); return;
        case Kind::Table: fail(Err::TABLE_SET, v.text, name); return;
        case Kind::Pointer:
        case Kind::Memory: fail(Err::MEMORY_SET, name); return;
        case Kind::Regs: regs_set(name, to); return;
        case Kind::Args: args_member_set(name, to); return;
        case Kind::Hit: hit_set(name, to); return;
        default: break;
    }
    if (usable(v, "an assignment")) fail(Err::MEMBER, describe(v), name);
}

void Builder::set_indexed(const Value& target, const Value& index, const Value& to) {
    const Value v = target;
    if (v.is_poison() || index.is_poison()) return;
    switch (v.kind()) {
        case Kind::Map: map_set(v, index, to); return;
        case Kind::ArgNumbers: args_number_set(index, to); return;
        case Kind::Record: record_set(v, index, to); return;
        case Kind::List: list_set(v, index, to); return;
        case Kind::Table: fail(Err::TABLE_SET, v.text, "[…]"); return;
        case Kind::Pointer:
        case Kind::Memory: fail(Err::MEMORY_SET, "[…]"); return;
        default: break;
    }
    if (index.literal)
        set_named(v, index.text, to);
    else if (usable(v, "an assignment"))
        fail(Err::INDEX, describe(v));
}

// ---- tables under construction

Value Builder::new_record(uint32_t to) {
    const std::string site = list_site();
    if (const auto list = s_.lists.find(site); list != s_.lists.end()) return new_list(site, list->second);
    const uint32_t id = next_record_++;
    cur_.records[id].at = w_.line();
    cur_.records[id].site = site;
    const LocalVar* local = frame_->proto->local_at(to, pc_ + 1);
    records_made_[id] = {w_.line(), local && !local->name.starts_with('(') ? local->name : std::string()};
    return named(Kind::Record, {}, id);
}

// The table for messages: what is told of no local is told of the line.
std::string Builder::record_name(uint32_t id) const {
    const auto made = records_made_.find(id);
    if (made != records_made_.end() && !made->second.name.empty()) return "the table '" + made->second.name + "'";
    for (uint32_t n = 0; n < cur_.slots.size(); n++) {
        const LocalVar* local =
            cur_.slots[n].is(Kind::Record) && cur_.slots[n].index == id ? frame_->proto->local_at(n, pc_) : nullptr;
        if (local && !local->name.starts_with('(')) return "the table '" + local->name + "'";
    }
    return "this table";
}

// What is in it so far. Null: that is not known here, which no script should come to, and is never passed over in
// silence.
RecordState* Builder::content(const Value& table) {
    const auto it = cur_.records.find(table.index);
    if (it != cur_.records.end()) return &it->second;
    s_.diag.add_error(w_.line(), record_name(table.index) + " can't be followed to here; make it where it is used");
    return nullptr;
}

void Builder::op_tnew(const Insn& i) { assign(i.a, new_record(i.a)); }

void Builder::op_tdup(const Insn& i) {
    const Value v = new_record(i.a);
    const auto& table = std::get<TableTemplate>(frame_->proto->gc[i.c]);
    auto constant = [&](const TemplateValue& t) -> Value {
        if (const auto* b = std::get_if<bool>(&t)) return bool_constant(*b);
        if (const auto* n = std::get_if<int32_t>(&t)) return int_constant(*n);
        if (const auto* d = std::get_if<double>(&t)) return number_constant(*d);
        if (const auto* s = std::get_if<std::string>(&t)) return string_literal(*s);
        return nil_value();
    };
    std::map<int64_t, Value> elements;
    for (size_t n = 0; n < table.array.size(); n++)
        if (!std::holds_alternative<Nil>(table.array[n])) elements[static_cast<int64_t>(n)] = constant(table.array[n]);
    if (v.is(Kind::List))
        list_template(v, std::move(elements));
    else
        cur_.records[v.index].elements = std::move(elements);
    for (const auto& [key, value] : table.hash) set_indexed(v, constant(key), constant(value));
    assign(i.a, v);
}

// {..., f()}: the open results from index D's low bits on (LuaJIT stores the index as 2^52 + n).
void Builder::op_tsetm(const Insn& i) {
    const int64_t first = static_cast<int64_t>(frame_->proto->num[i.c] - 4503599627370496.0);
    const Value record = slot(i.a - 1u);
    const Values open = cur_.open;
    for (size_t n = 0; n < open.size(); n++)
        set_indexed(record, int_constant(first + static_cast<int64_t>(n)), open[n]);
}

Value Builder::record_get(const Value& v, const Value& key) {
    const RecordState* record = content(v);
    if (!record) return poison();
    if (key.literal) {
        const auto field = record->fields.find(key.text);
        return field == record->fields.end() ? nil_value() : field->second;
    }
    if (key.is(Kind::Int) && key.constant) {
        const auto element = record->elements.find(*key.constant);
        return element == record->elements.end() ? nil_value() : element->second;
    }
    return fail(Err::RECORD_KEY, record_name(v.index));
}

void Builder::record_set(const Value& v, const Value& key, const Value& to) {
    if (v.is_poison() || key.is_poison()) return;
    if (to.is(Kind::Record)) make_list(to, "a field of " + record_name(v.index));
    const Value& value = to.is(Kind::Record) ? poison() : to;
    RecordState* const record = content(v);
    if (!record) return;
    if (key.is(Kind::Int) && !key.constant && record->fields.empty())
        make_list(v, "itself");
    else if (key.literal)
        record->fields[key.text] = value;
    else if (key.is(Kind::Int) && key.constant)
        record->elements[*key.constant] = value;
    else
        fail(Err::RECORD_KEY, record_name(v.index));
}

}  // namespace kpl::builder
