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

// What a value of the program's is in a map.
Result<Datum> datum_of(const klua_value& value) {
    switch (value.type) {
        case KLUA_NIL: return Datum{Nil{}};
        case KLUA_BOOL: return Datum{value.as.number != 0};
        case KLUA_INT:
        case KLUA_NAMED: return Datum{value.as.number};
        case KLUA_INET: return Datum{inet_text(value)};
        case KLUA_UINT:
        case KLUA_POINTER:
        case KLUA_SYMBOL: return Datum{value.as.address};
        case KLUA_STRING:
            if (value.as.bytes || !value.length)
                return Datum{std::string(value.as.bytes ? value.as.bytes : "", value.length)};
            break;
        default: break;
    }
    return Error{Errc::usage, fmt::format("a value of type {} can't be put into a map", value.type)};
}

Result<std::vector<Datum>> key_of(const klua_value* key, int count) {
    std::vector<Datum> data;
    if (count < 0 || (count && !key)) return Error{Errc::usage, "no key"};
    for (int i = 0; i < count; i++) data.push_back(TRY(datum_of(key[i])));
    return data;
}

int read(klua_session* s, int map, bool take, klua_rows** out) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        if (!out) return Error{Errc::usage, "no place for the rows"};
        *out = nullptr;
        const MapDecl* decl = find(s, map);
        if (!decl) return s->errors.number();
        const auto number = static_cast<uint32_t>(map);
        auto rows = std::make_unique<klua_rows>();
        if (decl->kind == KPL_MAP_HASH) {
            if (take) return s->errors.set(KLUA_ERR_TYPE, "only aggregations can be taken: read a map() and clear it");
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

int give_field(klua_session* s, const std::vector<FieldLayout>& fields, int position, klua_field_info* info) {
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
        for (size_t i = s->session && name ? s->session->declared().unit().maps.size() : 0; i-- > 0;)
            if (s->session->map(static_cast<uint32_t>(i)).name == name &&
                !s->session->declared().hidden_map(static_cast<uint32_t>(i)))
                return static_cast<int>(i);
        return s->errors.set(
            KLUA_ERR_NOT_FOUND,
            fmt::format("no map is called '{}': a map has the name of the variable that an armed handler "
                        "uses it by",
                        name ? name : ""));
    });
}

int klua_map(klua_session* s, int map, klua_map_info* info) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        const MapDecl* decl = find(s, map);
        if (!decl) return s->errors.number();
        Armed* armed = s->session->armed();
        const auto number = static_cast<uint32_t>(map);
        const bool there = armed && armed->maps().has(number);
        const uint64_t lost = there ? TRY(armed->maps().losses(number)).full : 0;
        const bool shared = decl->kind == KPL_MAP_HASH;
        TRY(give(info, klua_map_info{0, decl->name.c_str(), kind_of(*decl), decl->keyed || shared, there,
                                     static_cast<int>(decl->key.fields.size()),
                                     shared ? static_cast<int>(decl->value.fields.size()) : 0, lost}));
        return 0;
    });
}

int klua_map_key_field(klua_session* s, int map, int position, klua_field_info* info) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        const MapDecl* decl = find(s, map);
        return decl ? give_field(s, decl->key.fields, position, info) : s->errors.number();
    });
}

int klua_map_value_field(klua_session* s, int map, int position, klua_field_info* info) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        const MapDecl* decl = find(s, map);
        return decl ? give_field(s, decl->value.fields, position, info) : s->errors.number();
    });
}

int klua_map_read(klua_session* s, int map, klua_rows** rows) { return read(s, map, false, rows); }
int klua_map_take(klua_session* s, int map, klua_rows** rows) { return read(s, map, true, rows); }

int klua_map_clear(klua_session* s, int map) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        if (!find(s, map)) return s->errors.number();
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
        const auto& fields = decl->fixed ? decl->value.fields : decl->declared_value;
        if (fields.empty())
            return s->errors.set(KLUA_ERR_STATE,
                                 "no armed handler uses this map yet, and it declares no value: it has no type");
        const auto data = TRY(key_of(key, nr_key));
        if (nr_values < 0 || (nr_values && !values) || static_cast<size_t>(nr_values) != fields.size())
            return Error{Errc::usage, fmt::format("the map's values have {} fields, not {}", fields.size(), nr_values)};
        NamedValues named;
        for (size_t i = 0; i < fields.size(); i++)
            if (values[i].type != KLUA_NIL) named.emplace_back(fields[i].name, TRY(datum_of(values[i])));
        TRY(s->session->set(static_cast<uint32_t>(map), data, named));
        return 0;
    });
}

int klua_map_delete(klua_session* s, int map, const klua_value* key, int nr_key) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        const MapDecl* decl = find(s, map);
        if (!decl) return s->errors.number();
        if (decl->kind != KPL_MAP_HASH) return s->errors.set(KLUA_ERR_TYPE, "a key of an aggregation can't be deleted");
        return TRY(s->session->erase(static_cast<uint32_t>(map), TRY(key_of(key, nr_key)))) ? 1 : 0;
    });
}

}  // extern "C"
