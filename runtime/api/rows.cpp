// SPDX-License-Identifier: MIT
#include "api/rows.hpp"

#include <arpa/inet.h>

#include <cstring>

namespace kpl::api {
namespace {

uint64_t word_of(const Datum& datum) {
    if (const auto* b = std::get_if<bool>(&datum)) return *b;
    if (const auto* i = std::get_if<int64_t>(&datum)) return static_cast<uint64_t>(*i);
    if (const auto* u = std::get_if<uint64_t>(&datum)) return *u;
    if (const auto* p = std::get_if<PointerDatum>(&datum)) return p->address;
    if (const auto* s = std::get_if<SymbolDatum>(&datum)) return s->address;
    return 0;
}

// As helpers.def packs them.
void pack_list(const ListDatum& list, Cell& cell) {
    for (const Element& element : list.elements) {
        const auto* text = std::get_if<std::string>(&element);
        if (!text) {
            cell.words.push_back(word_of(datum_of(element)));
            continue;
        }
        const auto size = static_cast<uint32_t>(text->size());
        const size_t at = cell.words.size();
        cell.words.resize(at + (4 + text->size() + 7) / 8);
        auto* bytes = reinterpret_cast<char*>(&cell.words[at]);
        std::memcpy(bytes, &size, sizeof size);
        std::memcpy(bytes + sizeof size, text->data(), text->size());
    }
    cell.length = static_cast<uint32_t>(cell.words.size() * 8);
}

void pack_inet(const std::string& text, Cell& cell) {
    cell.words.resize(2);
    if (inet_pton(AF_INET, text.c_str(), cell.words.data()) == 1) cell.length = 4;
    if (inet_pton(AF_INET6, text.c_str(), cell.words.data()) == 1) cell.length = 16;
}

Cell cell_of(const FieldLayout& field, Datum datum) {
    Cell cell{std::move(datum)};
    if (std::holds_alternative<Nil>(cell.datum)) return cell;
    cell.type = type_of(field.kind);
    if (const auto* list = std::get_if<ListDatum>(&cell.datum)) {
        cell.element = type_of(field.element);
        pack_list(*list, cell);
    }
    if (const auto* stack = std::get_if<StackDatum>(&cell.datum)) {
        if (!stack->kernel) cell.words.push_back(stack->space);
        for (const SymbolDatum& frame : stack->frames) cell.words.push_back(frame.address);
        cell.length = static_cast<uint32_t>(stack->frames.size());
    }
    if (const auto* symbol = std::get_if<SymbolDatum>(&cell.datum); symbol && cell.type == KLUA_USYMBOL) {
        cell.words = {symbol->space, symbol->address};
        cell.length = 1;
    }
    if (const auto* text = std::get_if<std::string>(&cell.datum); text && cell.type == KLUA_INET)
        pack_inet(*text, cell);
    return cell;
}

}  // namespace

std::vector<Cell> cells(const Layout& layout, std::vector<Datum> data) {
    std::vector<Cell> all;
    all.reserve(data.size());
    for (size_t i = 0; i < data.size() && i < layout.fields.size(); i++)
        all.push_back(cell_of(layout.fields[i], std::move(data[i])));
    return all;
}

klua_value Cell::value() const {
    klua_value value{type, element, length, {0}};
    const auto* text = std::get_if<std::string>(&datum);
    if (type == KLUA_KSTACK) {
        value.as.frames = words.data();
    } else if (type == KLUA_USTACK || type == KLUA_USYMBOL) {
        value.as.frames = words.data() + 1;
    } else if (type == KLUA_INET || type == KLUA_LIST) {
        value.as.bytes = reinterpret_cast<const char*>(words.data());
    } else if (text) {
        value.length = static_cast<uint32_t>(text->size());
        value.as.bytes = text->data();
    } else {
        value.as.address = word_of(datum);
    }
    return value;
}

std::string inet_text(const klua_value& value) {
    char text[INET6_ADDRSTRLEN] = "";
    if (value.as.bytes && (value.length == 4 || value.length == 16))
        inet_ntop(value.length == 4 ? AF_INET : AF_INET6, value.as.bytes, text, sizeof text);
    return text;
}

}  // namespace kpl::api

using namespace kpl;
using namespace kpl::api;

namespace {

const klua_rows::Row* row_at(const klua_rows* rows, int row) {
    return rows && row >= 0 && static_cast<size_t>(row) < rows->rows.size() ? &rows->rows[static_cast<size_t>(row)]
                                                                            : nullptr;
}

using Cells = std::vector<Cell> klua_rows::Row::*;

// Null: there is none.
const Cell* cell_at(const klua_rows* rows, int row, Cells cells, int position) {
    const klua_rows::Row* at = row_at(rows, row);
    return at && position >= 0 && static_cast<size_t>(position) < (at->*cells).size()
               ? &(at->*cells)[static_cast<size_t>(position)]
               : nullptr;
}

int give_value(const Cell* cell, klua_value* value) {
    if (!value) return ErrorList::textless(KLUA_ERR_USAGE);
    *value = cell ? cell->value() : klua_value{};
    return cell ? 0 : ErrorList::textless(KLUA_ERR_NOT_FOUND);
}

int give_cell_text(const Cell* cell, char* text, size_t size) {
    if (size && !text) return ErrorList::textless(KLUA_ERR_USAGE);
    if (!cell) return ErrorList::textless(KLUA_ERR_NOT_FOUND);
    try {
        return give_text(to_text(cell->datum), text, size);
    } catch (...) {
        return ErrorList::textless(KLUA_ERR_MEMORY);
    }
}

}  // namespace

extern "C" {

void klua_rows_free(klua_rows* rows) { delete rows; }

int klua_rows_count(const klua_rows* rows) {
    return rows ? static_cast<int>(rows->rows.size()) : ErrorList::textless(KLUA_ERR_USAGE);
}

int klua_rows_key(const klua_rows* rows, int row, int position, klua_value* value) {
    return give_value(cell_at(rows, row, &klua_rows::Row::key, position), value);
}

int klua_rows_key_text(const klua_rows* rows, int row, int position, char* text, size_t size) {
    return give_cell_text(cell_at(rows, row, &klua_rows::Row::key, position), text, size);
}

int klua_rows_value(const klua_rows* rows, int row, int position, klua_value* value) {
    return give_value(cell_at(rows, row, &klua_rows::Row::value, position), value);
}

int klua_rows_value_text(const klua_rows* rows, int row, int position, char* text, size_t size) {
    return give_cell_text(cell_at(rows, row, &klua_rows::Row::value, position), text, size);
}

int klua_rows_aggregate(const klua_rows* rows, int row, klua_aggregate* aggregate) {
    const klua_rows::Row* at = row_at(rows, row);
    if (!at) return ErrorList::textless(KLUA_ERR_NOT_FOUND);
    if (rows->map.kind == KPL_MAP_HASH) return ErrorList::textless(KLUA_ERR_TYPE);
    const AggValue& v = at->aggregate;
    return give(aggregate, klua_aggregate{0, v.n, v.sum, v.min, v.max, static_cast<int>(v.slots.size())})
               ? 0
               : ErrorList::textless(KLUA_ERR_USAGE);
}

int klua_rows_bucket(const klua_rows* rows, int row, int index, klua_bucket* bucket) {
    const klua_rows::Row* at = row_at(rows, row);
    if (!at || index < 0 || static_cast<size_t>(index) >= at->aggregate.slots.size())
        return ErrorList::textless(KLUA_ERR_NOT_FOUND);
    const auto slot = static_cast<size_t>(index);
    const Bounds bounds = slot_bounds(rows->map, slot, at->aggregate.slots.size());
    return give(bucket, klua_bucket{0, bounds.min.has_value(), bounds.max.has_value(), bounds.min.value_or(0),
                                    bounds.max.value_or(0), at->aggregate.slots[slot]})
               ? 0
               : ErrorList::textless(KLUA_ERR_USAGE);
}

}  // extern "C"
