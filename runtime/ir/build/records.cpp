// SPDX-License-Identifier: MIT
// What leaves a handler as a record: events, printf and print.
#include "ir/build/builder.hpp"

namespace kpl::builder {

using namespace ir;

// The type under which a value can be kept; reports why not.
std::optional<Type> Builder::storable(const Value& v, const std::string& use) {
    switch (v.kind()) {
        case Kind::Undefined:
        case Kind::Poison: return std::nullopt;
        case Kind::Nil:
            if (v.index != never_defined) return v.type;
            fail(Err::NOT_DEFINED, v.text, meant_by(v.text));
            return std::nullopt;
        case Kind::Bool:
        case Kind::Int:
        case Kind::Pointer:
        case Kind::String:
        case Kind::Stack:
        case Kind::List:
        case Kind::Inet:
        case Kind::UserSymbol: return v.type;
        case Kind::Float: fail(Err::FLOAT, v.text); return std::nullopt;
        case Kind::Memory: {
            const auto t = ask(s_.types.resolve(v.type.ctype));
            const auto element = t && t->kind == TypeKind::Array ? ask(s_.types.resolve(t->element)) : std::nullopt;
            if (element && element->size == 1)
                fail(Err::STORE_CHARS, v.text.empty() ? "x" : v.text, str_reader(v));
            else
                fail(Err::STORE_MEMORY, describe(v), use);
            return std::nullopt;
        }
        case Kind::Record: make_list(v, use); return std::nullopt;
        default: fail(Err::STORE_KIND, describe(v), use); return std::nullopt;
    }
}

bool Builder::store_shape(RecordShape& shape, const std::string& name, const Value& v, const std::string& use) {
    const std::optional<Type> type = storable(v, use);
    const auto conflict = shape.store(name, type.value_or(Type{Kind::Poison}), w_.line());
    if (!conflict) return type.has_value();
    if (conflict->before.kind == Kind::Undefined)
        fail(Err::SHAPE_FIXED, use, fields_text(shape));
    else
        fail(Err::SHAPE_CONFLICT, use, describe(v), describe(conflict->before),
             conflict->at.file == w_.line().file ? "line " + std::to_string(conflict->at.line)
                                                 : Error{Errc::script, "", conflict->at}.message());
    return false;
}

std::string Builder::fields_text(const RecordShape& shape) {
    std::string all;
    for (const auto& [name, field] : shape.fields()) all += (all.empty() ? "" : ", ") + name;
    return all.empty() ? "nothing" : all;
}

// A whole record goes into a shape that may be laid out already.
bool Builder::store_record(RecordShape& shape, const Named& record,
                           const std::function<std::string(const std::string&)>& use) {
    shape.count_site();
    bool good = true;
    for (const auto& [name, v] : record) good &= store_shape(shape, name, v, use(name));
    for (const auto& [name, field] : shape.fields()) {
        const auto it = record.find(name);
        const bool there = it != record.end() && !it->second.is(Kind::Nil) && !it->second.type.nilable;
        if (there || !shape.needs(name)) continue;
        fail(Err::SHAPE_LACKS, use(name));
        good = false;
    }
    return good;
}

std::vector<FieldStore> Builder::field_stores(const Layout& layout, const Named& values) {
    std::vector<FieldStore> stores;
    int64_t there = 0;  // presence that is known now
    ValueId maybe = no_value;
    for (size_t i = 0; i < layout.fields.size(); i++) {
        const FieldLayout& f = layout.fields[i];
        const auto it = values.find(f.name);
        FieldStore store{.offset = f.offset, .value = std::monostate{}, .limit = 0};
        const bool is_string = is_bytes(f.kind);
        if (is_string) store.limit = most_bytes(f);
        if (it != values.end() && !it->second.is(Kind::Nil)) {
            const Value& v = it->second;
            if (is_string)
                store.value = str_of(v);
            else
                store.value = num(v);
            if (v.type.nilable) {
                const ValueId bit = w_.binary(Opcode::Shl, v.present, w_.constant(static_cast<int64_t>(i)));
                maybe = maybe == no_value ? bit : w_.binary(Opcode::Or, maybe, bit);
            } else {
                there |= static_cast<int64_t>(uint64_t{1} << (i & 63));
            }
        }
        stores.push_back(std::move(store));
    }
    if (layout.presence_offset >= 0) {
        ValueId bits = w_.constant(there);
        if (maybe != no_value) bits = w_.binary(Opcode::Or, maybe, bits);
        stores.push_back({.offset = static_cast<uint32_t>(layout.presence_offset), .value = bits, .limit = 0});
    }
    return stores;
}

Values Builder::emit_event(const Value& event, const Values& args) {
    if (!side_effect("an event")) return {};
    const std::string name = event.text.empty() ? "the event" : event.text;
    if (args.size() != 1 || !args[0].is(Kind::Record)) {
        if (args.size() != 1 || !args[0].is_poison()) fail(Err::EVENT_RECORD, name);
        return {};
    }
    records_used_.insert(args[0].index);
    const RecordState* made = content(args[0]);
    if (!made) return {};
    const RecordState record = *made;
    if (!record.elements.empty()) {
        fail(Err::EVENT_NAMES, name);
        return {};
    }
    EventShape& shape = s_.events[event.index];
    if (!store_record(shape.record, record.fields, [&](const std::string& field) { return name + "." + field; }))
        return {};
    const std::vector<FieldStore> fields = field_stores(shape.layout, record.fields);
    w_.append({.op = Opcode::Emit, .imm = event.index, .size = shape.layout.size, .fields = fields});
    return {};
}

// ---- printf, print

bool Builder::check_conversion(char conversion, const Value& v, size_t index) {
    const auto bad = [&](const char* wants) {
        if (conversion == 's' && (v.is(Kind::Pointer) || v.is(Kind::Memory)))
            fail(Err::FORMAT_CHARS, index, describe(v), v.text.empty() ? "x" : v.text);
        else
            fail(Err::FORMAT_TYPE, std::string("%") + conversion, index, wants, describe(v));
        return false;
    };
    switch (conversion) {
        case 'd':
        case 'i':
        case 'u':
        case 'x':
        case 'X':
        case 'o':
            if (v.is(Kind::Int) || (v.is(Kind::Pointer) && conversion != 'd' && conversion != 'i')) return true;
            return bad("an integer");
        case 'c': return v.is(Kind::Int) || bad("an integer");
        case 'p': return v.is(Kind::Int) || v.is(Kind::Pointer) || bad("a pointer");
        default:
            if (v.is(Kind::Bool) || is_bytes(v.type)) return true;
            if (v.is(Kind::Int) && (v.type.shows == Shows::Symbol || v.type.shows == Shows::Named)) return true;
            return bad("a string");
    }
}

// Checks the format against the values; length modifiers are dropped, every integer has 64 bits.
bool Builder::check_format(std::string& format, const Values& values) {
    std::string plain;
    size_t next = 0;
    for (size_t i = 0; i < format.size(); i++) {
        plain += format[i];
        if (format[i] != '%') continue;
        size_t at = i + 1, digits = 0;
        while (at < format.size() && std::string_view("-+ #0.123456789").find(format[at]) != std::string_view::npos) {
            digits = format[at] >= '0' && format[at] <= '9' ? digits + 1 : 0;
            if (digits > 2) {  // string.format's own limit
                fail(Err::FORMAT_CONVERSION, "widths and precisions over 99");
                return false;
            }
            plain += format[at++];
        }
        while (at < format.size() && std::string_view("lhzjt").find(format[at]) != std::string_view::npos) at++;
        const char conversion = at < format.size() ? format[at] : '\0';
        i = at;
        plain += conversion;
        if (conversion == '%') continue;
        if (conversion == '\0' || std::string_view("diuxXocsp").find(conversion) == std::string_view::npos) {
            fail(Err::FORMAT_CONVERSION, conversion ? std::string("%") + conversion : "a single %");
            return false;
        }
        if (next >= values.size()) {
            fail(Err::FORMAT_FEW, values.size());
            return false;
        }
        if (!usable(values[next], "printf") || !check_conversion(conversion, values[next], next + 1)) return false;
        next++;
    }
    format = plain;
    if (next == values.size()) return true;
    fail(Err::FORMAT_MANY, next, values.size());
    return false;
}

Values Builder::emit_printf(const std::string& format, bool is_print, const Values& values) {
    if (!side_effect(is_print ? "print" : "printf")) return {};
    PrintfDecl decl{.format = format, .is_print = is_print, .at = w_.line(), .record = {}};
    for (const Value& v : values)
        if (v.is_poison()) return {};
    if (!is_print && !check_format(decl.format, values)) return {};
    RecordShape::Fields shapes;
    Named named_values;
    for (size_t i = 0; i < values.size(); i++) {
        const auto type = storable(values[i], is_print ? "print" : "printf");
        if (!type) return {};
        const std::string name = std::to_string(i + 1);
        FieldShape& shape = shapes[name];
        shape.type = *type;
        shape.nilable = type->nilable || type->kind == Kind::Nil;
        named_values[name] = values[i];
    }
    decl.record = make_layout(s_.unit, shapes, Strings::Tail);
    const uint32_t event = kpl_printf_event + static_cast<uint32_t>(s_.unit.printfs.size() + s_.printfs.size());
    const std::vector<FieldStore> fields = field_stores(decl.record, named_values);
    w_.append({.op = Opcode::Emit, .imm = event, .size = decl.record.size, .fields = fields});
    s_.printfs.push_back(std::move(decl));
    return {};
}

}  // namespace kpl::builder
