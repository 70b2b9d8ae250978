// SPDX-License-Identifier: MIT
#include "ir/build/shapes.hpp"

#include <algorithm>
#include <charconv>

namespace kpl::builder {
namespace {

std::optional<long> as_number(const std::string& s) {
    long n = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
    if (error != std::errc{} || end != s.data() + s.size()) return std::nullopt;
    return n;
}

// Only ever in one direction, or the rounds would not end: what was stored as an address anywhere shows as one.
Shows wider(Shows a, Shows b) {
    if (a == Shows::Address || b == Shows::Address) return Shows::Address;
    return a == b ? a : Shows::Plain;
}

}  // namespace

Type element_of(const Type& list) {
    Type t = list;
    t.kind = list.element;
    t.element = Kind::Undefined;
    t.limit = 0;
    return t;
}

Type list_of(const Type& element, uint32_t bytes) {
    Type t = element;
    t.element = element.kind;
    t.kind = Kind::List;
    t.limit = bytes;
    t.nilable = false;
    return t;
}

std::optional<Type> widen(const Type& a, const Type& b) {
    if (a.kind == Kind::Undefined) return b;
    if (b.kind == Kind::Undefined) return a;
    if (a.kind == Kind::List && b.kind == Kind::List) {
        const auto element = widen(element_of(a), element_of(b));
        if (!element) return std::nullopt;
        return list_of(*element, std::max(a.limit, b.limit));
    }
    Type t = a;
    if (a.kind != b.kind) {
        const bool numbers =
            (a.kind == Kind::Int && b.kind == Kind::Pointer) || (a.kind == Kind::Pointer && b.kind == Kind::Int);
        if (!numbers) return std::nullopt;
        return Type{.kind = Kind::Int, .is_unsigned = true, .shows = Shows::Address};
    }
    if (a.kind == Kind::Stack && a.user != b.user) return std::nullopt;
    t.is_unsigned |= b.is_unsigned;
    t.limit = std::max(a.limit, b.limit);
    t.shows = wider(a.shows, b.shows);
    if (t.shows == Shows::Named && a.naming != b.naming) t.shows = Shows::Plain;
    if (t.shows != Shows::Named) t.naming = 0;
    if (a.ctype != b.ctype) t.ctype = 0;
    t.space = std::max(a.space, b.space);
    return t;
}

uint32_t ListSite::most() const {
    constexpr uint32_t unless_known = 32, limit = 4096;
    uint32_t sum = 0;
    for (const auto& [at, times] : grows) {
        if (!times) return unless_known;
        sum = std::min(sum + *times, limit);
    }
    return sum;
}

uint32_t ListSite::bytes() const {
    constexpr uint32_t limit = KPL_MAX_STR & ~7u;
    const uint32_t size = element.kind == Kind::String ? (sizeof(uint32_t) + element.limit + 7) & ~7u : 8;
    return std::min(std::max(most(), 1u) * size, limit);
}

bool FieldOrder::operator()(const std::string& a, const std::string& b) const {
    const auto x = as_number(a), y = as_number(b);
    if (x && y) return *x < *y;
    return a < b;
}

std::optional<Conflict> RecordShape::store(const std::string& name, const Type& type, const SourceLoc& at) {
    auto it = fields_.find(name);
    if (it == fields_.end()) {
        if (fixed_) return Conflict{{}, {}};
        it = fields_.emplace(name, FieldShape{{}, at}).first;
        changed_ = true;
    }
    FieldShape& field = it->second;
    field.stores++;
    if (type.nilable || type.kind == Kind::Nil) field.nil_stored = true;
    if (type.kind == Kind::Nil || type.kind == Kind::Poison) return std::nullopt;
    Type plain = type;
    plain.nilable = false;
    plain.map = 0;
    const std::optional<Type> wide = widen(field.type, plain);
    if (!wide) return Conflict{field.type, field.at};
    if (*wide == field.type) return std::nullopt;
    if (fixed_ || field.declared) {
        // Laid out and in use, or declared: longer strings stop the handler, numbers keep its kind.
        if (wide->kind == field.type.kind) return std::nullopt;
        return Conflict{field.type, field.at};
    }
    if (field.type.kind == Kind::Undefined) field.at = at;
    field.type = *wide;
    changed_ = true;
    return std::nullopt;
}

void RecordShape::make_nilable(const std::string& name) {
    FieldShape& field = fields_.at(name);
    if (field.nilable) return;
    field.nilable = true;
    changed_ = true;
}

void RecordShape::begin_round() {
    sites_ = 0;
    changed_ = false;
    for (auto& [name, field] : fields_) {
        field.stores = 0;
        field.nil_stored = false;
    }
}

bool RecordShape::end_round(bool whole_records) {
    for (auto& [name, field] : fields_) {
        const bool lacking = whole_records && field.stores < sites_;
        if ((lacking || field.nil_stored) && !field.nilable && !fixed_) {
            field.nilable = true;
            changed_ = true;
        }
    }
    return changed_;
}

bool RecordShape::needs(const std::string& name) const {
    const FieldShape* field = find(name);
    return fixed_ && field && !field->nilable;
}

const FieldShape* RecordShape::find(const std::string& name) const {
    const auto it = fields_.find(name);
    return it == fields_.end() ? nullptr : &it->second;
}

void RecordShape::adopt(const Unit& unit, const Layout& layout, const SourceLoc& at, bool fixed) {
    for (const FieldLayout& f : layout.fields)
        fields_[f.name] = FieldShape{.type = type_of(f, unit), .at = at, .nilable = f.nilable, .declared = !fixed};
    fixed_ = fixed;
}

UnitState::UnitState(Unit& u, Types& t, const BuildOptions& o) : unit(u), types(t), options(o) {
    for (const MapDecl& decl : unit.maps) {
        MapShape shape;
        if (decl.fixed) {
            shape.key.adopt(unit, decl.key, decl.at, true);
            shape.value.adopt(unit, decl.value, decl.at, true);
            shape.keyed = {decl.keyed, decl.at};
            if (decl.keyed) shape.tuple = {decl.tuple_key, decl.at};
            if (decl.kind == KPL_MAP_HASH) shape.structure = {decl.struct_value, decl.at};
        } else {
            auto declared = [&](const std::vector<FieldLayout>& fields, RecordShape& to, Form& form) {
                if (fields.empty()) return;
                Layout l;
                l.fields = fields;
                to.adopt(unit, l, decl.at, false);
                form = {fields.size() > 1 || !fields[0].name.empty(), decl.at};
            };
            declared(decl.declared_key, shape.key, shape.tuple);
            declared(decl.declared_value, shape.value, shape.structure);
        }
        if (decl.kind == KPL_MAP_HASH) shape.keyed = {true, decl.at};
        maps.push_back(std::move(shape));
    }
    for (const EventDecl& decl : unit.events) {
        EventShape shape;
        if (decl.fixed) shape.record.adopt(unit, decl.record, decl.at, true);
        events.push_back(std::move(shape));
    }
    int groups = 0;
    for (const HandlerDecl& h : unit.handlers) groups = std::max(groups, h.data_group + 1);
    data.resize(static_cast<size_t>(groups));
    for (const HandlerDecl& h : unit.handlers)
        if (h.data_group >= 0 && h.kind == KPL_PROG_ENTRY) data[static_cast<size_t>(h.data_group)].has_entry = true;
    for (size_t i = 0; i < data.size() && i < unit.data.size(); i++) data[i].fields.adopt(unit, unit.data[i], {}, true);
}

void UnitState::begin_round() {
    diag.clear();
    printfs.clear();
    changed = false;
    for (size_t i = 0; i < maps.size(); i++) {
        maps[i].key.begin_round();
        maps[i].value.begin_round();
        maps[i].key_layout = make_layout(unit, maps[i].key.fields(), Strings::Inline);
        maps[i].value_layout = make_layout(unit, maps[i].value.fields(), Strings::Inline);
    }
    for (size_t i = 0; i < events.size(); i++) {
        events[i].record.begin_round();
        events[i].layout = make_layout(unit, events[i].record.fields(), Strings::Tail, unit.events[i].order);
    }
    for (DataShape& d : data) {
        d.fields.begin_round();
        d.layout = make_layout(unit, d.fields.fields(), Strings::Inline);
        d.entry_stores_now.reset();
    }
}

bool UnitState::end_round() {
    bool more = changed;
    for (MapShape& m : maps) {
        more |= m.key.end_round(false);
        more |= m.value.end_round(true);
    }
    for (EventShape& e : events) more |= e.record.end_round(true);
    for (DataShape& d : data) {
        more |= d.fields.end_round(false);
        more |= d.entry_stores != d.entry_stores_now;
        d.entry_stores = d.entry_stores_now;
    }
    return more;
}

Result<std::shared_ptr<const Proto>> UnitState::proto(const FunctionRef& function) {
    const auto it = protos_.find(function.identity());
    if (it != protos_.end()) return it->second;
    auto proto = TRY(function.proto());
    protos_.emplace(function.identity(), proto);
    return proto;
}

const Cfg& UnitState::cfg(const std::shared_ptr<const Proto>& proto) {
    const auto it = cfgs_.find(proto);
    return it != cfgs_.end() ? it->second : cfgs_.emplace(proto, make_cfg(*proto)).first->second;
}

}  // namespace kpl::builder
