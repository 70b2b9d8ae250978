// SPDX-License-Identifier: MIT
// Maps: what is in them, as copies; set and delete.
#include <fmt/format.h>

#include "api/handle.hpp"
#include "api/rows.hpp"

using namespace kpl;
using namespace kpl::api;

namespace {

const MapDecl* find(klua_session* s, int map) {
    if (s->session && map >= 0) {
        const Declared& declared = s->session->declared();
        const auto number = static_cast<uint32_t>(map);
        if (number < declared.unit().maps.size() && !declared.hidden_map(number)) return &declared.unit().maps[number];
    }
    s->errors.set(KLUA_ERR_NOT_FOUND, fmt::format("there is no map {}", map));
    return nullptr;
}

// enum klua_map_kind has the rows of aggs.def: new ones come last.
#ifndef KPL_TEST_ROWS
#define AGG(id, ...) static_assert(KLUA_MAP_##id == KPL_MAP_##id + 1);
#include "uapi/aggs.def"
#undef AGG
#endif

uint32_t kind_of(const MapDecl& map) {
    return map.kind == KPL_MAP_HASH ? uint32_t{KLUA_MAP_SHARED} : static_cast<uint32_t>(map.kind) + 1;
}

// Its fields: as they are laid out, or declared. Empty: neither yet.
const std::vector<FieldLayout>& key_fields(const MapDecl& map) { return map.fixed ? map.key.fields : map.declared_key; }
const std::vector<FieldLayout>& value_fields(const MapDecl& map) {
    return map.fixed ? map.value.fields : map.declared_value;
}

// What a value of the program's is in a map. It fits: see misfit().
Datum datum_of(const klua_value& value) {
    switch (value.type) {
        case KLUA_BOOL: return Datum{value.as.number != 0};
        case KLUA_INET: return Datum{inet_text(value)};
        case KLUA_STRING: return Datum{std::string(value.as.bytes ? value.as.bytes : "", value.length)};
        case KLUA_INT:
        case KLUA_NAMED: return Datum{value.as.number};
        default: return Datum{value.as.address};
    }
}

bool is_number(uint16_t type) {
    return type == KLUA_INT || type == KLUA_UINT || type == KLUA_POINTER || type == KLUA_SYMBOL || type == KLUA_NAMED;
}

// What a field takes, in words; nothing: the value is of such a type. `key`: an address may be a symbol's name.
const char* wanted(FieldKind kind, uint16_t type, bool key) {
    switch (kind) {
        case FieldKind::String: return type == KLUA_STRING ? nullptr : "a string";
        case FieldKind::Bool: return type == KLUA_BOOL ? nullptr : "true or false";
        case FieldKind::Inet: return type == KLUA_INET || type == KLUA_STRING ? nullptr : "an internet address";
        case FieldKind::Kstack:
        case FieldKind::Ustack:
        case FieldKind::UserSymbol:
        case FieldKind::List: return "a stack, a symbol of a process or a list, which handlers alone make";
        case FieldKind::Symbol:
        case FieldKind::Pointer:
            if (key && type == KLUA_STRING) return nullptr;
            break;
        case FieldKind::I64:
        case FieldKind::U64:
        case FieldKind::Named: break;
    }
    return is_number(type) ? nullptr : "a number";
}

// Whether a value can't be in a field, which is said; before any byte of it is looked at.
int misfit(klua_session* s, const FieldLayout& field, const klua_value& value, const std::string& what, bool key) {
    constexpr uint32_t longest_name = 1024;
    if (const char* want = wanted(field.kind, value.type, key))
        return s->errors.set(KLUA_ERR_TYPE, fmt::format("{} is {}, not a value of type {}", what, want, value.type));
    const bool text = value.type == KLUA_STRING, address = value.type == KLUA_INET;
    if ((text || address) && value.length && !value.as.bytes)
        return s->errors.set(KLUA_ERR_USAGE, fmt::format("{} has {} bytes at NULL", what, value.length));
    const uint32_t limit = field.kind == FieldKind::String ? field.limit : longest_name;
    if (text && value.length > limit)
        return s->errors.set(KLUA_ERR_USAGE,
                             fmt::format("{} bytes are more than the {} of {}", value.length, limit, what));
    if (address && value.length != 4 && value.length != 16)
        return s->errors.set(KLUA_ERR_USAGE,
                             fmt::format("{}: an address has 4 or 16 bytes, not {}", what, value.length));
    return 0;
}

// 0 and the key, or an error that was noted.
int take_key(klua_session* s, const MapDecl& map, const klua_value* key, int count, std::vector<Datum>& to) {
    const auto& fields = key_fields(map);
    if (fields.empty())
        return s->errors.set(KLUA_ERR_STATE,
                             "no armed handler uses this map yet, and it declares no key: it has no type");
    if (count < 0 || static_cast<size_t>(count) != fields.size())
        return s->errors.set(KLUA_ERR_USAGE,
                             fmt::format("the map's keys have {} fields, not {}", fields.size(), count));
    if (!key) return s->errors.set(KLUA_ERR_USAGE, "no key");
    for (size_t i = 0; i < fields.size(); i++) {
        if (const int error = misfit(s, fields[i], key[i], fmt::format("element {} of the key", i + 1), true))
            return error;
        to.push_back(datum_of(key[i]));
    }
    return 0;
}

// The same for a value. Whether handlers leave a field out is known once they are armed.
int take_value(klua_session* s, const MapDecl& map, const klua_value* values, int count, NamedValues& to) {
    const auto& fields = value_fields(map);
    if (fields.empty())
        return s->errors.set(KLUA_ERR_STATE,
                             "no armed handler uses this map yet, and it declares no value: it has no type");
    if (count < 0 || static_cast<size_t>(count) != fields.size())
        return s->errors.set(KLUA_ERR_USAGE,
                             fmt::format("the map's values have {} fields, not {}", fields.size(), count));
    if (!values) return s->errors.set(KLUA_ERR_USAGE, "no value");
    for (size_t i = 0; i < fields.size(); i++) {
        const FieldLayout& field = fields[i];
        if (values[i].type == KLUA_NIL && field.nilable) continue;
        const std::string what = field.name.empty() ? "the value" : fmt::format("field '{}'", field.name);
        if (values[i].type == KLUA_NIL) return s->errors.set(KLUA_ERR_TYPE, what + " can't be left out");
        if (const int error = misfit(s, field, values[i], what, false)) return error;
        to.emplace_back(field.name, datum_of(values[i]));
    }
    return 0;
}

// The map, which the kernel must have; null: the error is noted.
const MapDecl* find_armed(klua_session* s, int map) {
    const MapDecl* decl = find(s, map);
    Armed* armed = decl ? s->session->armed() : nullptr;
    if (armed && armed->maps().has(static_cast<uint32_t>(map))) return decl;
    if (decl) s->errors.set(KLUA_ERR_STATE, "no armed handler uses this map yet: there is nothing in it");
    return nullptr;
}

int read(klua_session* s, int map, bool take, klua_rows** out) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        if (!out) return Error{Errc::usage, "no place for the rows"};
        *out = nullptr;
        const MapDecl* decl = find(s, map);
        if (decl && take && decl->kind == KPL_MAP_HASH)
            return s->errors.set(KLUA_ERR_TYPE, "only aggregations can be taken: read a map() and clear it");
        if (decl) decl = find_armed(s, map);
        if (!decl) return s->errors.number();
        const auto number = static_cast<uint32_t>(map);
        auto rows = std::make_unique<klua_rows>();
        if (decl->kind == KPL_MAP_HASH) {
            for (MapEntry& entry : TRY(s->session->entries(number)))
                rows->rows.push_back(
                    {cells(decl->key, std::move(entry.key)), cells(decl->value, std::move(entry.value)), {}});
        } else {
            for (KeyedValue& row : TRY(take ? s->session->take(number) : s->session->look(number)))
                rows->rows.push_back({cells(decl->key, std::move(row.key)), {}, std::move(row.value)});
        }
        rows->map = *decl;
        *out = rows.release();
        return 0;
    });
}

int give_field(klua_session* s, const MapDecl& map, const std::vector<FieldLayout>& fields, int position,
               klua_field_info* info) {
    if (auto given = check_size(info); !given) return s->errors.set(given.error());
    if (fields.empty() && !map.fixed)
        return s->errors.set(KLUA_ERR_STATE, "no armed handler uses this map yet, and it declares no types");
    if (position < 0 || static_cast<size_t>(position) >= fields.size())
        return s->errors.set(KLUA_ERR_NOT_FOUND, fmt::format("there is no field {}", position));
    if (auto given = give(info, field_info(fields[static_cast<size_t>(position)])); !given)
        return s->errors.set(given.error());
    return 0;
}

}  // namespace

extern "C" {

int klua_map_count(klua_session* s) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        return s->session ? static_cast<int>(s->session->declared().unit().maps.size()) : 0;
    });
}

int klua_find_map(klua_session* s, const char* name) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        if (!name) return Error{Errc::usage, "no name"};
        for (size_t i = s->session ? s->session->declared().unit().maps.size() : 0; i-- > 0;)
            if (s->session->map(static_cast<uint32_t>(i)).name == name &&
                !s->session->declared().hidden_map(static_cast<uint32_t>(i)))
                return static_cast<int>(i);
        return s->errors.set(
            KLUA_ERR_NOT_FOUND,
            fmt::format("no map is called '{}': a map has the name of the variable that an armed handler "
                        "uses it by",
                        name));
    });
}

int klua_map(klua_session* s, int map, klua_map_info* info) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        const MapDecl* decl = find(s, map);
        if (!decl) return s->errors.number();
        Armed* armed = s->session->armed();
        const auto number = static_cast<uint32_t>(map);
        const bool there = armed && armed->maps().has(number);
        const ArmedMaps::Losses losses = there ? TRY(armed->maps().losses(number)) : ArmedMaps::Losses();
        const uint64_t lost = losses.full + losses.without;
        const bool shared = decl->kind == KPL_MAP_HASH;
        TRY(give(info, klua_map_info{0, decl->name.c_str(), kind_of(*decl), decl->keyed || shared, there,
                                     static_cast<int>(key_fields(*decl).size()),
                                     shared ? static_cast<int>(value_fields(*decl).size()) : 0, lost}));
        return 0;
    });
}

int klua_map_key_field(klua_session* s, int map, int position, klua_field_info* info) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        const MapDecl* decl = find(s, map);
        return decl ? give_field(s, *decl, key_fields(*decl), position, info) : s->errors.number();
    });
}

int klua_map_value_field(klua_session* s, int map, int position, klua_field_info* info) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        const MapDecl* decl = find(s, map);
        return decl ? give_field(s, *decl, value_fields(*decl), position, info) : s->errors.number();
    });
}

int klua_map_read(klua_session* s, int map, klua_rows** rows) { return read(s, map, false, rows); }
int klua_map_take(klua_session* s, int map, klua_rows** rows) { return read(s, map, true, rows); }

int klua_map_clear(klua_session* s, int map) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        if (!find_armed(s, map)) return s->errors.number();
        TRY(s->session->clear(static_cast<uint32_t>(map)));
        return 0;
    });
}

int klua_map_set(klua_session* s, int map, const klua_value* key, int nr_key, const klua_value* values, int nr_values) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        const MapDecl* decl = find(s, map);
        if (!decl) return s->errors.number();
        if (decl->kind != KPL_MAP_HASH)
            return s->errors.set(KLUA_ERR_TYPE, "only a map() can be set, not an aggregation");
        std::vector<Datum> data;
        NamedValues named;
        if (const int error = take_key(s, *decl, key, nr_key, data)) return error;
        if (const int error = take_value(s, *decl, values, nr_values, named)) return error;
        TRY(s->session->set(static_cast<uint32_t>(map), data, named));
        return 0;
    });
}

int klua_map_delete(klua_session* s, int map, const klua_value* key, int nr_key) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        const MapDecl* decl = find(s, map);
        if (!decl) return s->errors.number();
        if (decl->kind != KPL_MAP_HASH) return s->errors.set(KLUA_ERR_TYPE, "a key of an aggregation can't be deleted");
        std::vector<Datum> data;
        if (const int error = take_key(s, *decl, key, nr_key, data)) return error;
        if (!find_armed(s, map)) return s->errors.number();
        return TRY(s->session->erase(static_cast<uint32_t>(map), data)) ? 1 : 0;
    });
}

}  // extern "C"
