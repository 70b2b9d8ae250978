// SPDX-License-Identifier: MIT
// Where each field lies in a record, key, value or in private data.
#include <algorithm>

#include "ir/build/shapes.hpp"

namespace kpl::builder {
namespace {

FieldKind kind_of(const Type& type) {
    switch (type.kind) {
        case Kind::Bool: return FieldKind::Bool;
        case Kind::Pointer: return FieldKind::Pointer;
        case Kind::String: return FieldKind::String;
        case Kind::Stack: return type.user ? FieldKind::Ustack : FieldKind::Kstack;
        case Kind::List: return FieldKind::List;
        case Kind::Inet: return FieldKind::Inet;
        case Kind::UserSymbol: return FieldKind::UserSymbol;
        default: break;
    }
    if (type.shows == Shows::Address) return FieldKind::Pointer;
    if (type.shows == Shows::Symbol) return FieldKind::Symbol;
    if (type.shows == Shows::Named) return FieldKind::Named;
    return type.is_unsigned ? FieldKind::U64 : FieldKind::I64;
}

uint32_t size_in(const Type& type, Strings strings) {
    if (!is_bytes(type)) return 8;
    return strings == Strings::Tail ? sizeof(kpl_rec_str) : KPL_STR_SIZE(string_bytes(type));
}

std::vector<std::string> names_in_order(const RecordShape::Fields& fields, const std::vector<std::string>& order) {
    std::vector<std::string> names;
    for (const std::string& name : order)
        if (fields.contains(name)) names.push_back(name);
    for (const auto& [name, field] : fields)
        if (std::find(order.begin(), order.end(), name) == order.end()) names.push_back(name);
    return names;
}

void check_presence(UnitState& s, const char* what, const std::string& name, const Layout& layout,
                    const SourceLoc& at) {
    constexpr size_t bits = 64;  // of the word that says which fields are there
    if (layout.presence_offset >= 0 && layout.fields.size() > bits)
        s.diag.error(at, Err::TOO_MANY_FIELDS, what, name.empty() ? "" : " of '" + name + "'", layout.fields.size(),
                     bits);
}

void check_size(UnitState& s, const char* what, const std::string& name, uint32_t size, uint32_t limit,
                const SourceLoc& at) {
    if (size > limit) s.diag.error(at, Err::TOO_LARGE, what, name.empty() ? "" : " of '" + name + "'", size, limit);
}

SourceLoc first_store(const RecordShape& shape, const SourceLoc& fallback) {
    for (const auto& [name, field] : shape.fields())
        if (field.at.line) return field.at;
    return fallback;
}

uint32_t with_tail(const Layout& layout) {
    uint32_t size = sizeof(kpl_rec) + layout.size;
    for (const FieldLayout& f : layout.fields)
        if (is_bytes(f.kind)) size += (most_bytes(f) + 7) & ~7u;
    return size;
}

}  // namespace

uint32_t string_bytes(const Type& type) {
    return type.kind == Kind::Stack ? (type.limit + (type.user ? 1 : 0)) * 8 : type.limit;
}

Type type_of(const FieldLayout& f, const Unit& unit) {
    switch (f.kind) {
        case FieldKind::I64: return int_type;
        case FieldKind::U64: return uint_type;
        case FieldKind::Bool: return bool_type;
        case FieldKind::Pointer:
            if (f.pointee == integer_address) return {.kind = Kind::Int, .is_unsigned = true, .shows = Shows::Address};
            return {.kind = Kind::Pointer, .ctype = f.pointee, .space = f.user ? Space::User : Space::Unknown};
        case FieldKind::Symbol: return {.kind = Kind::Int, .is_unsigned = true, .shows = Shows::Symbol};
        case FieldKind::Named: {
            const auto at = std::find(unit.namings.begin(), unit.namings.end(), f.naming);
            return {
                .kind = Kind::Int, .shows = Shows::Named, .naming = static_cast<uint32_t>(at - unit.namings.begin())};
        }
        case FieldKind::String: return {.kind = Kind::String, .limit = f.limit};
        case FieldKind::Inet: return {.kind = Kind::Inet, .limit = f.limit};
        case FieldKind::UserSymbol: return {.kind = Kind::UserSymbol, .limit = f.limit};
        case FieldKind::Kstack: return {.kind = Kind::Stack, .limit = f.limit};
        case FieldKind::Ustack: return {.kind = Kind::Stack, .user = true, .limit = f.limit};
        case FieldKind::List: {
            FieldLayout element = f;
            element.kind = f.element;
            return list_of(type_of(element, unit), f.limit);
        }
    }
    return {};
}

Layout make_layout(const Unit& unit, const RecordShape::Fields& fields, Strings strings,
                   const std::vector<std::string>& order) {
    Layout layout;
    const bool nilable = std::any_of(fields.begin(), fields.end(), [](const auto& f) { return f.second.nilable; });
    if (nilable) {
        layout.presence_offset = 0;
        layout.size = 8;
    }
    for (const std::string& name : names_in_order(fields, order)) {
        const FieldShape& shape = fields.at(name);
        FieldLayout f;
        f.name = name;
        f.kind = kind_of(shape.type);
        f.offset = layout.size;
        f.limit = shape.type.limit;
        if (f.kind == FieldKind::List) f.element = kind_of(element_of(shape.type));
        f.nilable = shape.nilable;
        if (shape.type.shows == Shows::Named) f.naming = unit.namings[shape.type.naming];
        if (shape.type.kind == Kind::Pointer) f.pointee = shape.type.ctype;
        f.user = shape.type.kind == Kind::Pointer && shape.type.space == Space::User;
        if (shape.type.kind == Kind::Int && shape.type.shows == Shows::Address) f.pointee = integer_address;
        layout.size += size_in(shape.type, strings);
        layout.fields.push_back(std::move(f));
    }
    return layout;
}

void UnitState::finish() {
    for (size_t i = 0; i < maps.size(); i++) {
        MapDecl& decl = unit.maps[i];
        const MapShape& m = maps[i];
        decl.keyed = m.keyed.table.value_or(false);
        decl.tuple_key = m.tuple.table.value_or(false);
        decl.struct_value = m.structure.table.value_or(false);
        decl.fixed |= decl.kind == KPL_MAP_HASH ? m.key.used() : m.keyed.table.has_value();
        if (!m.key.fixed()) decl.key = m.key_layout;
        if (!m.value.fixed()) decl.value = m.value_layout;
        check_size(*this, "key", decl.name, decl.key.size, KPL_MAX_KEY, first_store(m.key, decl.at));
        check_presence(*this, "value", decl.name, decl.value, first_store(m.value, decl.at));
        check_size(*this, "value", decl.name, decl.value.size, KPL_MAX_VALUE, first_store(m.value, decl.at));
    }
    for (size_t i = 0; i < events.size(); i++) {
        EventDecl& decl = unit.events[i];
        if (!events[i].record.fixed()) decl.record = events[i].layout;
        decl.fixed |= events[i].record.used();
        check_presence(*this, "record", decl.name, decl.record, first_store(events[i].record, decl.at));
        check_size(*this, "record", decl.name, with_tail(decl.record), KPL_MAX_RECORD,
                   first_store(events[i].record, decl.at));
    }
    for (const PrintfDecl& p : printfs) check_size(*this, "record", "", with_tail(p.record), KPL_MAX_RECORD, p.at);
    unit.printfs.insert(unit.printfs.end(), printfs.begin(), printfs.end());
    unit.data.resize(std::max(unit.data.size(), data.size()));
    for (size_t i = 0; i < data.size(); i++)
        if (!data[i].fields.fixed()) unit.data[i] = data[i].layout;
    for (const HandlerDecl& h : unit.handlers) {
        if (h.data_group < 0) continue;
        const size_t group = static_cast<size_t>(h.data_group);
        check_presence(*this, "p.data", "", unit.data[group], first_store(data[group].fields, {}));
        check_size(*this, "p.data", "", unit.data[group].size,
                   std::min<uint32_t>(h.declared_data.value_or(KPL_MAX_DATA), KPL_MAX_DATA),
                   first_store(data[group].fields, {}));
    }
}

}  // namespace kpl::builder
