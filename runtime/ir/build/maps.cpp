// SPDX-License-Identifier: MIT
// Maps and aggregations.
#include "core/core.h"
#include "ir/build/builder.hpp"

namespace kpl::builder {

using namespace ir;

std::string Builder::map_name(uint32_t map) const {
    const std::string& name = s_.unit.maps[map].name;
    return name.empty() ? "the map" : "'" + name + "'";
}

bool Builder::set_form(Form& form, bool table, Err conflict, uint32_t map) {
    if (!form.table) {
        form = {table, w_.line()};
        return true;
    }
    if (*form.table == table) return true;
    fail(conflict, map_name(map), form.at.line);
    return false;
}

// A key's elements by the names of its layout: "" for a single one, "1", "2"… for a tuple.
std::optional<Builder::Named> Builder::key_fields(uint32_t map, const Value& key) {
    MapShape& shape = s_.maps[map];
    Named elements;
    if (key.is(Kind::Record)) {
        records_used_.insert(key.index);
        const RecordState* table = content(key);
        if (!table || s_.lists.contains(table->site)) return std::nullopt;  // a list: from the next round on
        if (!set_form(shape.tuple, true, Err::KEY_FORM, map)) return std::nullopt;
        if (!table->fields.empty() || table->elements.empty()) {
            fail(Err::KEY_NAMES);
            return std::nullopt;
        }
        int64_t expected = 1;
        for (const auto& [index, v] : table->elements) {
            if (index != expected++) {
                fail(Err::KEY_HOLE);
                return std::nullopt;
            }
            elements[std::to_string(index)] = v;
        }
    } else {
        if (key.is_poison() || !set_form(shape.tuple, false, Err::KEY_FORM, map)) return std::nullopt;
        elements[""] = key;
    }
    for (const auto& [name, v] : elements)
        if (v.is_poison()) return std::nullopt;
    const size_t arity = shape.key.fields().size();
    if (arity && arity != elements.size()) {
        fail(Err::KEY_ARITY, map_name(map), arity, elements.size());
        return std::nullopt;
    }
    for (const auto& [name, v] : elements) {
        if (!usable(v, "a key")) return std::nullopt;
        const std::string use = name.empty() ? "the key of " + map_name(map)
                                             : fmt::format("element {} of the key of {}", name, map_name(map));
        if (!store_shape(shape.key, name, v, use)) return std::nullopt;
    }
    return elements;
}

Value Builder::map_get(const Value& map, const Value& key) {
    const uint32_t id = map.index;
    if (s_.unit.maps[id].kind != KPL_MAP_HASH) {
        Value cell = named(Kind::Cell, map.text, id);
        cell.key = std::make_shared<const std::vector<Value>>(1, key);
        return cell;
    }
    const auto elements = key_fields(id, key);
    if (!elements) return poison();
    MapShape& shape = s_.maps[id];
    if (shape.value.fields().empty() || !shape.structure.table) return fail(Err::MAP_NEVER_SET, map_name(id));
    const Layout& layout = shape.value_layout;
    const SlotId slot = w_.new_slot(std::max(layout.size, 8u));
    maps_read_[slot] = id;
    for (const FieldLayout& f : layout.fields)
        if (is_bytes(f.kind)) w_.store_slot_in(w_.block(), slot, f.offset, w_.constant(0));
    const ValueId there = w_.append({.op = Opcode::MapGet,
                                     .soft = soft(),
                                     .imm = id,
                                     .size = shape.key_layout.size,
                                     .string_ends = key_string(shape.key_layout) != 0,
                                     .slot = slot,
                                     .fields = field_stores(shape.key_layout, *elements)});
    if (*shape.structure.table) {
        Value v;
        v.type = {.kind = Kind::Snapshot, .nilable = true, .map = id};
        v.index = slot;
        v.present = there;
        v.text = map.text + "[…]";
        return v;
    }
    const Type type = shape.value.fields().begin()->second.type;
    // Unless a later round finds a store of something else, it is only ever set to what is made of its own nil.
    if (type.kind == Kind::Undefined) return fail(Err::MAYBE_NIL, "'" + map.text + "[…]'");
    const bool is_string = is_bytes(type);
    Value v = stored_field(type, is_string ? no_value : w_.load_slot(slot, 0),
                           {.index = slot, .limit = string_bytes(type)}, there);
    v.text = map.text + "[…]";
    return v;
}

Value Builder::snapshot_field(const Value& snapshot, const std::string& name) {
    MapShape& shape = s_.maps[snapshot.type.map];
    const FieldShape* field = shape.value.find(name);
    if (!field) return fail(Err::NO_VALUE_FIELD, map_name(snapshot.type.map), name);
    // Only ever set to what is made of itself, unless a later round finds another store.
    if (field->type.kind == Kind::Undefined) return fail(Err::MAYBE_NIL, fmt::format("'{}.{}'", snapshot.text, name));
    const Layout& layout = shape.value_layout;
    uint32_t offset = 0;
    int64_t index = 0;
    for (size_t i = 0; i < layout.fields.size(); i++)
        if (layout.fields[i].name == name) {
            offset = layout.fields[i].offset;
            index = static_cast<int64_t>(i);
        }
    ValueId present = no_value;
    const std::string path = fmt::format("{}.{}", snapshot.index, name);
    if (field->nilable && !cur_.there.contains(path))
        present = w_.binary(Opcode::And, w_.binary(Opcode::Shr, w_.load_slot(snapshot.index, 0), w_.constant(index)),
                            w_.constant(1));
    const Type type = field->type;
    const bool is_string = is_bytes(type);
    Value v = stored_field(type, is_string ? no_value : w_.load_slot(snapshot.index, offset),
                           {.index = snapshot.index, .limit = string_bytes(type), .offset = offset}, present);
    v.text = snapshot.text + "." + name;
    v.field = path;
    return v;
}

// Whether a number comes from a read of this map, by a few steps of arithmetic: m[k] = m[k] + 1 loses
// updates.
bool Builder::reads_map(ValueId value, uint32_t map, int depth) const {
    if (value == no_value || depth > 4) return false;
    const Inst& inst = fn_.insts[value];
    if (inst.op == Opcode::LoadSlot) {
        const auto read = maps_read_.find(inst.slot);
        return read != maps_read_.end() && read->second == map;
    }
    if (inst.op != Opcode::Phi && inst.op != Opcode::Add && inst.op != Opcode::Sub) return false;
    for (ValueId arg : inst.args)
        if (reads_map(arg, map, depth + 1)) return true;
    return false;
}

void Builder::map_set(const Value& map, const Value& key, const Value& value) {
    const uint32_t id = map.index;
    if (!side_effect("a map's change")) return;
    if (s_.unit.maps[id].kind != KPL_MAP_HASH) {
        fail(Err::AGG_SET, map_name(id));
        return;
    }
    const auto elements = key_fields(id, key);
    if (!elements) return;
    MapShape& shape = s_.maps[id];
    Inst inst{.op = Opcode::MapSet,
              .imm = id,
              .size = shape.key_layout.size,
              .string_ends = key_string(shape.key_layout) != 0};
    if (value.is(Kind::Nil)) {
        inst.op = Opcode::MapDelete;
        inst.fields = field_stores(shape.key_layout, *elements);
        w_.append(std::move(inst));
        return;
    }
    const bool table = value.is(Kind::Record);
    if (!value.is_poison() && !usable(value, "a map's value")) return;
    if (!set_form(shape.structure, table, Err::VALUE_FORM, id)) return;
    Named fields;
    if (table) {
        records_used_.insert(value.index);
        const RecordState* record = content(value);
        if (!record) return;
        if (!record->elements.empty() || record->fields.empty()) {
            fail(Err::VALUE_NAMES, map_name(id));
            return;
        }
        fields = record->fields;
    } else {
        fields[""] = value;
    }
    const auto use = [&](const std::string& name) {
        return name.empty() ? "the value of " + map_name(id) : name + " in " + map_name(id);
    };
    if (!store_record(shape.value, fields, use)) return;
    if (!table && reads_map(value.constant ? no_value : value.id, id, 0))
        s_.diag.warn(w_.line(), Warn::NOT_ATOMIC, s_.unit.maps[id].name.empty() ? "m" : s_.unit.maps[id].name);
    inst.fields = field_stores(shape.key_layout, *elements);
    inst.value_fields = field_stores(shape.value_layout, fields);
    inst.value_size = shape.value_layout.size;
    w_.append(std::move(inst));
}

Values Builder::map_method(const Value& receiver, const std::string& name, const Values& args) {
    if (receiver.is_poison()) return {};
    if (!side_effect("':" + name + "'")) return {};
    if (receiver.is(Kind::Map) && s_.unit.maps[receiver.index].kind == KPL_MAP_HASH) return map_add(receiver, args);
    if (receiver.is(Kind::Map) || receiver.is(Kind::Cell)) return agg_add(receiver, args);
    return {fail(Err::METHOD_DOT, name)};
}

// m:add(key, n)
Values Builder::map_add(const Value& map, const Values& args) {
    const uint32_t id = map.index;
    if (args.size() != 2) return {fail(Err::MAP_ADD, map_name(id))};
    const auto elements = key_fields(id, args[0]);
    if (!elements || !need_int(args[1], "':add'")) return {};
    MapShape& shape = s_.maps[id];
    if (!set_form(shape.structure, false, Err::VALUE_FORM, id)) return {};
    shape.value.count_site();
    if (!store_shape(shape.value, "", args[1], "the value of " + map_name(id))) return {};
    const ValueId n = num(args[1]);
    w_.append({.op = Opcode::MapAdd,
               .imm = id,
               .size = shape.key_layout.size,
               .string_ends = key_string(shape.key_layout) != 0,
               .args = {n},
               .fields = field_stores(shape.key_layout, *elements)});
    return {};
}

Values Builder::agg_add(const Value& cell, const Values& args) {
    const uint32_t id = cell.index;
    const kpl_map_kind kind = s_.unit.maps[id].kind;
    if (args.size() > 1 || (args.empty() && kpl_agg_descs[kind].shows != KPL_SHOWS_N))
        return {fail(Err::AGG_ADD, map_name(id))};
    if (!args.empty() && !need_int(args[0], "':add'")) return {};
    MapShape& shape = s_.maps[id];
    const bool keyed = cell.is(Kind::Cell);
    if (!set_form(shape.keyed, keyed, Err::KEYED_FORM, id)) return {};
    Inst inst{.op = Opcode::AggAdd, .imm = id};
    if (keyed) {
        const auto elements = key_fields(id, (*cell.key)[0]);
        if (!elements) return {};
        inst.fields = field_stores(shape.key_layout, *elements);
        inst.size = shape.key_layout.size;
        inst.string_ends = key_string(shape.key_layout) != 0;
    }
    inst.args = {args.empty() ? w_.constant(1) : num(args[0])};
    w_.append(std::move(inst));
    return {};
}

}  // namespace kpl::builder
