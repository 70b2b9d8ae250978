// SPDX-License-Identifier: MIT
// Maps: what is in them, as copies; set and delete.
#include <fmt/format.h>

#include "api/handle.hpp"

using namespace kpl;
using namespace kpl::api;

// Rows own what they point to.
struct klua_rows {
    struct Row {
        std::vector<Datum> key, value;
        AggValue aggregate;
    };
    MapDecl map;
    std::vector<Row> rows;
    mutable std::vector<std::unique_ptr<std::vector<uint64_t>>> stacks;  // frames that were given
    mutable std::vector<std::unique_ptr<std::vector<klua_value>>> lists;  // elements that were given
};

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

// The value points into `datum`, or to what the rows keep for it.
void fill(const klua_rows* rows, const Datum& datum, klua_value& value) {
    value = {KLUA_NIL, 0, {0}};
    const auto number = [&](uint32_t type, uint64_t word) {
        value.type = type;
        value.as.address = word;
    };
    if (const auto* b = std::get_if<bool>(&datum)) number(KLUA_BOOL, *b);
    if (const auto* i = std::get_if<int64_t>(&datum)) number(KLUA_INT, static_cast<uint64_t>(*i));
    if (const auto* u = std::get_if<uint64_t>(&datum)) number(KLUA_UINT, *u);
    if (const auto* p = std::get_if<PointerDatum>(&datum)) number(KLUA_POINTER, p->address);
    if (const auto* symbol = std::get_if<SymbolDatum>(&datum)) number(KLUA_SYMBOL, symbol->address);
    if (const auto* text = std::get_if<std::string>(&datum)) {
        value.type = KLUA_STRING;
        value.length = static_cast<uint32_t>(text->size());
        value.as.bytes = text->data();
    }
    if (const auto* stack = std::get_if<StackDatum>(&datum)) {
        auto frames = std::make_unique<std::vector<uint64_t>>();
        for (const SymbolDatum& frame : stack->frames) frames->push_back(frame.address);
        value.type = stack->kernel ? KLUA_KSTACK : KLUA_USTACK;
        value.length = static_cast<uint32_t>(frames->size());
        value.as.frames = frames->data();
        rows->stacks.push_back(std::move(frames));
    }
    if (const auto* list = std::get_if<ListDatum>(&datum)) {
        auto elements = std::make_unique<std::vector<klua_value>>();
        for (const Element& element : list->elements) {
            if (const auto* text = std::get_if<std::string>(&element))
                elements->push_back({KLUA_STRING, static_cast<uint32_t>(text->size()), {.bytes = text->data()}});
            else
                fill(rows, kpl::datum_of(element), elements->emplace_back());
        }
        value.type = KLUA_LIST;
        value.length = static_cast<uint32_t>(elements->size());
        value.as.elements = elements->data();
        rows->lists.push_back(std::move(elements));
    }
}

int value_of(const klua_rows* rows, const std::vector<Datum>& values, int position, klua_value* value) {
    if (!value) return KLUA_ERR_USAGE;
    *value = {KLUA_NIL, 0, {0}};
    if (position < 0 || static_cast<size_t>(position) >= values.size()) return KLUA_ERR_NOT_FOUND;
    fill(rows, values[static_cast<size_t>(position)], *value);
    return 0;
}

const klua_rows::Row* row_at(const klua_rows* rows, int row) {
    return rows && row >= 0 && static_cast<size_t>(row) < rows->rows.size() ? &rows->rows[static_cast<size_t>(row)] : nullptr;
}

// What a value of the program's is in a map.
Result<Datum> datum_of(const klua_value& value) {
    switch (value.type) {
        case KLUA_NIL: return Datum{Nil{}};
        case KLUA_BOOL: return Datum{value.as.number != 0};
        case KLUA_INT: return Datum{value.as.number};
        case KLUA_UINT:
        case KLUA_POINTER:
        case KLUA_SYMBOL: return Datum{value.as.address};
        case KLUA_STRING:
            if (value.as.bytes || !value.length) return Datum{std::string(value.as.bytes ? value.as.bytes : "", value.length)};
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
                rows->rows.push_back({std::move(entry.key), std::move(entry.value), {}});
        } else {
            for (KeyedValue& row : TRY(take ? s->session->take(number) : s->session->look(number)))
                rows->rows.push_back({std::move(row.key), {}, std::move(row.value)});
        }
        rows->map = *decl;
        *out = rows.release();
        return 0;
    });
}

int give_field(klua_session* s, const std::vector<FieldLayout>& fields, int position, klua_field_info* info) {
    if (position < 0 || static_cast<size_t>(position) >= fields.size())
        return s->errors.set(KLUA_ERR_NOT_FOUND, fmt::format("there is no field {}", position));
    if (auto given = give(info, field_info(fields[static_cast<size_t>(position)])); !given) return s->errors.set(given.error());
    return 0;
}

}  // namespace

extern "C" {

int klua_map_count(klua_session* s) {
    return call(s, From::Anywhere,
                [&]() -> Result<int> { return s->session ? static_cast<int>(s->session->declared().unit().maps.size()) : 0; });
}

int klua_find_map(klua_session* s, const char* name) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        for (size_t i = s->session && name ? s->session->declared().unit().maps.size() : 0; i-- > 0;)
            if (s->session->map(static_cast<uint32_t>(i)).name == name && !s->session->declared().hidden_map(static_cast<uint32_t>(i)))
                return static_cast<int>(i);
        return s->errors.set(KLUA_ERR_NOT_FOUND,
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
        TRY(give(info, klua_map_info{0, decl->name.c_str(), static_cast<uint32_t>(decl->kind), decl->keyed || shared, there,
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

void klua_rows_free(klua_rows* rows) { delete rows; }

int klua_rows_count(const klua_rows* rows) { return rows ? static_cast<int>(rows->rows.size()) : KLUA_ERR_USAGE; }

int klua_rows_key(const klua_rows* rows, int row, int position, klua_value* value) {
    const klua_rows::Row* at = row_at(rows, row);
    return at ? value_of(rows, at->key, position, value) : KLUA_ERR_NOT_FOUND;
}

int klua_rows_value(const klua_rows* rows, int row, int position, klua_value* value) {
    const klua_rows::Row* at = row_at(rows, row);
    return at ? value_of(rows, at->value, position, value) : KLUA_ERR_NOT_FOUND;
}

int klua_rows_aggregate(const klua_rows* rows, int row, klua_aggregate* aggregate) {
    const klua_rows::Row* at = row_at(rows, row);
    if (!at) return KLUA_ERR_NOT_FOUND;
    if (rows->map.kind == KPL_MAP_HASH) return KLUA_ERR_TYPE;
    const AggValue& v = at->aggregate;
    return give(aggregate, klua_aggregate{0, v.n, v.sum, v.min, v.max, static_cast<int>(v.slots.size())}) ? 0 : KLUA_ERR_USAGE;
}

int klua_rows_bucket(const klua_rows* rows, int row, int index, klua_bucket* bucket) {
    const klua_rows::Row* at = row_at(rows, row);
    if (!at || index < 0 || static_cast<size_t>(index) >= at->aggregate.slots.size()) return KLUA_ERR_NOT_FOUND;
    const auto slot = static_cast<size_t>(index);
    const Bounds bounds = slot_bounds(rows->map, slot, at->aggregate.slots.size());
    return give(bucket, klua_bucket{0, bounds.min.has_value(), bounds.max.has_value(), bounds.min.value_or(0),
                                    bounds.max.value_or(0), at->aggregate.slots[slot]})
               ? 0
               : KLUA_ERR_USAGE;
}

int klua_map_set(klua_session* s, int map, const klua_value* key, int nr_key, const klua_value* values, int nr_values) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        const MapDecl* decl = find(s, map);
        if (!decl) return s->errors.number();
        if (decl->kind != KPL_MAP_HASH) return s->errors.set(KLUA_ERR_TYPE, "only a map() can be set, not an aggregation");
        const auto& fields = decl->fixed ? decl->value.fields : decl->declared_value;
        if (fields.empty())
            return s->errors.set(KLUA_ERR_STATE, "no armed handler uses this map yet, and it declares no value: it has no type");
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
