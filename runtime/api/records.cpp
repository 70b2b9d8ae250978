// SPDX-License-Identifier: MIT
// Events and the fields of their records.
#include <fmt/format.h>

#include "api/handle.hpp"

using namespace kpl;
using namespace kpl::api;

namespace {

const std::vector<EventDecl>* events_of(klua_session* s) {
    return s->session ? &s->session->declared().unit().events : nullptr;
}

// Null: the error is noted.
const EventDecl* find(klua_session* s, int event) {
    const auto* events = events_of(s);
    if (events && event >= 0 && static_cast<size_t>(event) < events->size() &&
        !s->session->declared().hidden_event(static_cast<uint32_t>(event)))
        return &(*events)[static_cast<size_t>(event)];
    s->errors.set(KLUA_ERR_NOT_FOUND, fmt::format("there is no event {}", event));
    return nullptr;
}

template <class T>
T load(const uint8_t* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// Strings, addresses, stacks and lists lie in the record's tail.
void tail_value(const klua_record& r, const FieldLayout& field, const uint8_t* record, klua_value& value) {
    const auto where = load<kpl_rec_str>(record + sizeof(kpl_rec) + field.offset);
    if (where.off == 0 || where.off > r.rec->len || where.len > r.rec->len - where.off) return;
    const uint8_t* bytes = record + where.off;
    if (field.kind == FieldKind::Inet) return give_inet(bytes, where.len, value);
    value.type = type_of(field.kind);
    if (field.kind == FieldKind::String || field.kind == FieldKind::List) {
        value.element = field.kind == FieldKind::List ? type_of(field.element) : uint16_t{KLUA_NIL};
        value.length = where.len;
        value.as.bytes = reinterpret_cast<const char*>(bytes);
        return;
    }
    const uint32_t before = field.kind == FieldKind::Kstack ? 0 : 1;  // the space
    value.as.frames = reinterpret_cast<const uint64_t*>(bytes) + before;
    while (value.length + before < where.len / 8 && value.as.frames[value.length]) value.length++;
}

// Nil where the record does not have it.
void value_at(const klua_record& r, size_t position, klua_value& value) {
    value = {};
    const FieldLayout& field = r.layout->fields[position];
    const auto* record = reinterpret_cast<const uint8_t*>(r.rec);
    if (field.nilable && r.layout->presence_offset >= 0) {
        const auto bits = load<uint64_t>(record + sizeof(kpl_rec) + r.layout->presence_offset);
        if (!(bits >> position & 1)) return;
    }
    if (is_bytes(field.kind)) return tail_value(r, field, record, value);
    value.type = type_of(field.kind);
    value.as.number = load<int64_t>(record + sizeof(kpl_rec) + field.offset);
    if (field.kind == FieldKind::Bool) value.as.number = value.as.number != 0;
}

// What the shorthand for numbers takes.
bool is_number(uint16_t type) { return (type >= KLUA_BOOL && type <= KLUA_SYMBOL) || type == KLUA_NAMED; }

// 0, or why there is nothing to be read.
int refused(const klua_record* r) {
    if (!r) return KLUA_ERR_NOT_FOUND;
    return r->state == klua_record::Here ? 0 : r->state == klua_record::Over ? KLUA_ERR_STATE : KLUA_ERR_FORKED;
}
int refused(const klua_record* r, int position) {
    if (const int why = refused(r)) return why;
    return position >= 0 && static_cast<size_t>(position) < r->layout->fields.size() ? 0 : KLUA_ERR_NOT_FOUND;
}

// An event whose records have a layout. Null: the error is noted.
const EventDecl* with_fields(klua_session* s, int event) {
    const EventDecl* decl = find(s, event);
    if (decl && !decl->fixed) {
        s->errors.set(KLUA_ERR_STATE, "no armed handler sends this event yet: it has no fields");
        return nullptr;
    }
    return decl;
}

}  // namespace

extern "C" {

int klua_event_count(klua_session* s) {
    return call(s, From::Anywhere,
                [&]() -> Result<int> { return events_of(s) ? static_cast<int>(events_of(s)->size()) : 0; });
}

const char* klua_event_name(klua_session* s, int event) {
    const char* name = nullptr;
    call(s, From::Anywhere, [&]() -> Result<int> {
        const EventDecl* decl = find(s, event);
        if (!decl) return s->errors.number();
        name = decl->name.c_str();
        return 0;
    });
    return name;
}

int klua_find_event(klua_session* s, const char* name) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        const auto* events = events_of(s);
        if (!name) return Error{Errc::usage, "no name"};
        for (size_t i = events ? events->size() : 0; i-- > 0;)
            if ((*events)[i].name == name && !s->session->declared().hidden_event(static_cast<uint32_t>(i)))
                return static_cast<int>(i);
        return s->errors.set(KLUA_ERR_NOT_FOUND,
                             fmt::format("no event is called '{}': an event has the name of the variable that an armed "
                                         "handler sends it by",
                                         name));
    });
}

int klua_field_count(klua_session* s, int event) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        const EventDecl* decl = with_fields(s, event);
        if (!decl) return s->errors.number();
        return static_cast<int>(decl->record.fields.size());
    });
}

int klua_field(klua_session* s, int event, int position, klua_field_info* info) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        TRY(check_size(info));
        const EventDecl* decl = with_fields(s, event);
        if (!decl) return s->errors.number();
        if (position < 0 || static_cast<size_t>(position) >= decl->record.fields.size())
            return s->errors.set(KLUA_ERR_NOT_FOUND, fmt::format("the event has no field {}", position));
        TRY(give(info, field_info(decl->record.fields[static_cast<size_t>(position)])));
        return 0;
    });
}

int klua_find_field(klua_session* s, int event, const char* name) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        if (!name) return Error{Errc::usage, "no name"};
        const EventDecl* decl = with_fields(s, event);
        if (!decl) return s->errors.number();
        std::string names;
        for (size_t i = 0; i < decl->record.fields.size(); i++) {
            if (decl->record.fields[i].name == name) return static_cast<int>(i);
            names += (names.empty() ? "" : ", ") + decl->record.fields[i].name;
        }
        return s->errors.set(KLUA_ERR_NOT_FOUND, fmt::format("the event has no field '{}'; it has: {}", name, names));
    });
}

int klua_subscribe(klua_session* s, int event, klua_record_fn fn, void* user) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        if (!find(s, event)) return s->errors.number();
        if (!fn) return Error{Errc::usage, "no function to call"};
        s->callbacks.subscribe({event, fn, user});
        return 0;
    });
}

int klua_unsubscribe(klua_session* s, int event, klua_record_fn fn, void* user) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        if (!fn) return Error{Errc::usage, "no function"};
        if (s->callbacks.unsubscribe({event, fn, user})) return 0;
        return s->errors.set(KLUA_ERR_NOT_FOUND, "no such subscription");
    });
}

int klua_record_event(const klua_record* r) {
    if (const int why = r ? refused(r) : int{KLUA_ERR_USAGE}) return ErrorList::textless(why);
    return static_cast<int>(r->rec->event);
}
uint64_t klua_record_time(const klua_record* r) { return refused(r) ? 0 : r->rec->time; }
uint32_t klua_record_cpu(const klua_record* r) { return refused(r) ? 0 : r->cpu; }

int klua_record_value(const klua_record* r, int position, klua_value* value) {
    if (!value) return ErrorList::textless(KLUA_ERR_USAGE);
    *value = {};
    if (const int why = refused(r, position)) return ErrorList::textless(why);
    value_at(*r, static_cast<size_t>(position), *value);
    return 0;
}

int klua_record_text(const klua_record* r, int position, char* text, size_t size) {
    if (size && !text) return ErrorList::textless(KLUA_ERR_USAGE);
    if (const int why = refused(r, position)) return ErrorList::textless(why);
    try {
        const std::span record(reinterpret_cast<const uint8_t*>(r->rec), r->rec->len);
        return give_text(to_text(r->decoder->record_field(*r->layout, record, static_cast<size_t>(position))), text,
                         size);
    } catch (...) {
        return ErrorList::textless(KLUA_ERR_MEMORY);
    }
}

// As helpers.def packs them.
int klua_list_next(const klua_value* list, uint32_t* at, klua_value* element) {
    if (!list || !at || !element) return ErrorList::textless(KLUA_ERR_USAGE);
    *element = {};
    if (list->type != KLUA_LIST) return ErrorList::textless(KLUA_ERR_TYPE);
    if (!list->as.bytes && list->length) return ErrorList::textless(KLUA_ERR_USAGE);
    if (*at > list->length || list->length - *at < 8) return 0;
    const auto* bytes = reinterpret_cast<const uint8_t*>(list->as.bytes) + *at;
    const uint32_t left = list->length - *at;
    element->type = list->element;
    if (list->element != KLUA_STRING) {
        element->as.number = load<int64_t>(bytes);
        *at += 8;
        return 1;
    }
    const auto size = std::min(load<uint32_t>(bytes), left - 4);
    element->length = size;
    element->as.bytes = reinterpret_cast<const char*>(bytes) + 4;
    *at += std::min((4 + size + 7) & ~7u, left);
    return 1;
}

int64_t klua_record_int(const klua_record* r, int position) {
    klua_value value{};
    if (!refused(r, position)) value_at(*r, static_cast<size_t>(position), value);
    return is_number(value.type) ? value.as.number : 0;
}

const char* klua_record_string(const klua_record* r, int position, size_t* length) {
    klua_value value{};
    if (!refused(r, position)) value_at(*r, static_cast<size_t>(position), value);
    if (length) *length = value.type == KLUA_STRING ? value.length : 0;
    return value.type == KLUA_STRING ? value.as.bytes : "";
}

int klua_symbol(klua_session* s, uint64_t address, char* text, size_t size) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        if (size && !text) return Error{Errc::usage, "no room for the text"};
        const std::string name = TRY(s->open())->decoder().symbol(address).text;
        return give_text(name, text, size);
    });
}

int klua_user_symbol(klua_session* s, const klua_value* value, uint32_t frame, char* text, size_t size) {
    return call(s, From::Anywhere, [&]() -> Result<int> {
        if (size && !text) return Error{Errc::usage, "no room for the text"};
        if (!value || (value->type != KLUA_USTACK && value->type != KLUA_USYMBOL))
            return Error{Errc::usage, "the value is neither a stack nor a symbol of a process"};
        if (frame >= value->length || !value->as.frames)
            return Error{Errc::usage, fmt::format("there is no frame {} of {}", frame, value->length)};
        const uint64_t space = value->as.frames[-1], address = value->as.frames[frame];
        return give_text(TRY(s->open())->decoder().user_symbol(space, address).text, text, size);
    });
}

}  // extern "C"
