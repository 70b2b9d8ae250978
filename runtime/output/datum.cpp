// SPDX-License-Identifier: MIT
// Values out of bytes, field by field: what printf sends, and keys and values of maps. Events, which may be millions,
// have decoders of their own in lua/events.lua, and come here for symbols and stacks alone.
#include "output/datum.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/printable.hpp"

namespace kpl {
namespace {

template <class T>
T load(std::span<const uint8_t> bytes, size_t offset) {
    T value{};
    if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

std::span<const uint8_t> part(std::span<const uint8_t> bytes, size_t offset, size_t size) {
    if (offset > bytes.size()) return {};
    return bytes.subspan(offset, std::min(size, bytes.size() - offset));
}

std::string text_of(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

std::string inet_text(std::span<const uint8_t> bytes) {
    const auto family = load<uint64_t>(bytes, 0);
    char text[INET6_ADDRSTRLEN] = "";
    const auto address = part(bytes, 8, 16);
    if ((family != AF_INET && family != AF_INET6) || address.size() < 16) return fmt::format("family {}", family);
    inet_ntop(static_cast<int>(family), address.data(), text, sizeof text);
    return text;
}

namespace {

bool absent(const Layout& layout, std::span<const uint8_t> bytes, size_t index, size_t base) {
    if (!layout.fields[index].nilable || layout.presence_offset < 0) return false;
    const auto bits = load<uint64_t>(bytes, base + static_cast<size_t>(layout.presence_offset));
    return !(bits >> index & 1);
}

}  // namespace

SymbolDatum Decoder::symbol(uint64_t address) const {
    std::string text = symbols_->name_of(address);
    if (text.ends_with("+0x0")) text.resize(text.size() - 4);
    return {address, std::move(text)};
}

SymbolDatum Decoder::frame(uint64_t address) const { return {address, symbols_->name_of(address)}; }

SymbolDatum Decoder::user_symbol(uint64_t space, uint64_t address) const {
    return {address, users_ ? users_->name(space, address) : fmt::format("{:#x}", address), space};
}

StackDatum Decoder::stack(FieldKind kind, std::span<const uint8_t> addresses) const {
    StackDatum stack;
    stack.kernel = kind == FieldKind::Kstack;
    if (!stack.kernel) stack.space = load<uint64_t>(addresses, 0);
    for (size_t at = stack.kernel ? 0 : 8; at + 8 <= addresses.size(); at += 8) {
        const auto address = load<uint64_t>(addresses, at);
        if (address == 0) break;
        stack.frames.push_back(stack.kernel ? frame(address) : user_symbol(stack.space, address));
    }
    return stack;
}

// As helpers.def packs them.
ListDatum Decoder::list(const FieldLayout& field, std::span<const uint8_t> bytes) const {
    ListDatum list;
    for (size_t at = 0; at + 8 <= bytes.size();) {
        if (field.element != FieldKind::String) {
            list.elements.push_back(number(field, field.element, load<uint64_t>(bytes, at)));
            at += 8;
            continue;
        }
        const size_t size = load<uint32_t>(bytes, at);
        list.elements.emplace_back(text_of(part(bytes, at + 4, size)));
        at += (4 + size + 7) & ~size_t{7};
    }
    return list;
}

Datum Decoder::bytes(const FieldLayout& field, std::span<const uint8_t> bytes) const {
    if (field.kind == FieldKind::String) return text_of(bytes);
    if (field.kind == FieldKind::List) return list(field, bytes);
    if (field.kind == FieldKind::Inet) return inet_text(bytes);
    if (field.kind == FieldKind::UserSymbol) return user_symbol(load<uint64_t>(bytes, 0), load<uint64_t>(bytes, 8));
    return stack(field.kind, bytes);
}

Element Decoder::number(const FieldLayout& field, FieldKind kind, uint64_t word) const {
    switch (kind) {
        case FieldKind::U64: return word;
        case FieldKind::Bool: return word != 0;
        case FieldKind::Pointer: return PointerDatum{word};
        case FieldKind::Symbol: return symbol(word);
        case FieldKind::Named: return SymbolDatum{word, named(*field.naming, word)};
        default: return static_cast<int64_t>(word);
    }
}

Datum Decoder::record_field(const Layout& layout, std::span<const uint8_t> record, size_t at) const {
    const size_t base = sizeof(kpl_rec);
    const FieldLayout& f = layout.fields[at];
    if (absent(layout, record, at, base)) return Nil{};
    if (!is_bytes(f.kind)) return datum_of(number(f, f.kind, load<uint64_t>(record, base + f.offset)));
    const auto where = load<kpl_rec_str>(record, base + f.offset);
    return where.off == 0 ? Datum{Nil{}} : bytes(f, part(record, where.off, where.len));
}

std::vector<Datum> Decoder::record(const Layout& layout, std::span<const uint8_t> record) const {
    std::vector<Datum> values;
    values.reserve(layout.fields.size());
    for (size_t i = 0; i < layout.fields.size(); i++) values.push_back(record_field(layout, record, i));
    return values;
}

std::vector<Datum> Decoder::fixed(const Layout& layout, std::span<const uint8_t> from) const {
    std::vector<Datum> values;
    values.reserve(layout.fields.size());
    for (size_t i = 0; i < layout.fields.size(); i++) {
        const FieldLayout& f = layout.fields[i];
        if (absent(layout, from, i, 0))
            values.emplace_back(Nil{});
        else if (is_bytes(f.kind))
            values.push_back(
                bytes(f, part(from, f.offset + 8u, std::min(load<uint32_t>(from, f.offset), most_bytes(f)))));
        else
            values.push_back(datum_of(number(f, f.kind, load<uint64_t>(from, f.offset))));
    }
    return values;
}

namespace {

// Puts one value where its field lies. False: it is of another type.
bool put_field(std::string& bytes, const FieldLayout& f, const Datum& value) {
    if (f.kind == FieldKind::UserSymbol) return false;
    auto put = [&](uint64_t word) {
        std::memcpy(bytes.data() + f.offset, &word, 8);
        return true;
    };
    if (f.kind == FieldKind::String) {
        auto* text = std::get_if<std::string>(&value);
        if (!text) return false;
        put(text->size());
        std::memcpy(bytes.data() + f.offset + 8, text->data(), text->size());
        return true;
    }
    if (f.kind == FieldKind::Inet) {
        auto* text = std::get_if<std::string>(&value);
        const int family = text && text->find(':') != std::string::npos ? AF_INET6 : AF_INET;
        uint64_t words[4] = {24, static_cast<uint64_t>(family), 0, 0};
        if (!text || inet_pton(family, text->c_str(), &words[2]) != 1) return false;
        std::memcpy(bytes.data() + f.offset, words, sizeof words);
        return true;
    }
    if (f.kind == FieldKind::Bool) {  // a number is none: 0 is true in Lua
        auto* b = std::get_if<bool>(&value);
        return b && put(*b);
    }
    if (auto* n = std::get_if<int64_t>(&value)) return put(static_cast<uint64_t>(*n));
    if (auto* u = std::get_if<uint64_t>(&value)) return put(*u);
    if (auto* symbol = std::get_if<SymbolDatum>(&value)) return put(symbol->address);
    return false;
}

Result<void> put_checked(std::string& bytes, const FieldLayout& f, const Datum& value, const std::string& what) {
    if (auto* text = std::get_if<std::string>(&value); text && f.kind == FieldKind::String && text->size() > f.limit)
        return Error{Errc::script, fmt::format("'{}' is longer than the {} bytes of {}", *text, f.limit, what)};
    if (put_field(bytes, f, value)) return {};
    if (f.kind == FieldKind::List)
        return Error{Errc::script, what + " is a list, which handlers alone make: see pairs()"};
    if (f.kind == FieldKind::UserSymbol)
        return Error{Errc::script, what + " is a symbol of a process, which handlers alone make: see pairs()"};
    const char* wanted = f.kind == FieldKind::Inet     ? "an internet address"
                         : f.kind == FieldKind::String ? "a string"
                         : f.kind == FieldKind::Bool   ? "true or false"
                                                       : "a number";
    return Error{Errc::script, fmt::format("{} should be {}", what, wanted)};
}

}  // namespace

Result<std::string> encode(const Layout& layout, const std::vector<Datum>& values) {
    if (values.size() != layout.fields.size())
        return Error{Errc::script,
                     fmt::format("the key has {} elements, {} given", layout.fields.size(), values.size())};
    std::string bytes(layout.size, '\0');
    for (size_t i = 0; i < values.size(); i++)
        TRY(put_checked(bytes, layout.fields[i], values[i], fmt::format("element {} of the key", i + 1)));
    return bytes;
}

Result<std::string> encode_named(const Layout& layout, const std::vector<std::pair<std::string, Datum>>& values) {
    std::string bytes(layout.size, '\0');
    uint64_t present = 0;
    for (const auto& [name, value] : values) {
        const auto at = std::find_if(layout.fields.begin(), layout.fields.end(),
                                     [&](const FieldLayout& f) { return f.name == name; });
        if (at == layout.fields.end())
            return Error{Errc::script, fmt::format("the map's values have no field '{}'", name)};
        if (std::holds_alternative<Nil>(value) && at->nilable) continue;
        TRY(put_checked(bytes, *at, value, name.empty() ? "the value" : fmt::format("field '{}'", name)));
        present |= uint64_t{1} << (at - layout.fields.begin());
    }
    for (size_t i = 0; i < layout.fields.size(); i++)
        if (!(present >> i & 1) && !layout.fields[i].nilable)
            return Error{Errc::script, fmt::format("field '{}' is missing", layout.fields[i].name)};
    if (layout.presence_offset >= 0) std::memcpy(bytes.data() + layout.presence_offset, &present, 8);
    return bytes;
}

std::string to_text(const Datum& datum) {
    struct Visitor {
        std::string operator()(const Nil&) const { return "nil"; }
        std::string operator()(bool b) const { return b ? "true" : "false"; }
        std::string operator()(int64_t n) const { return std::to_string(n); }
        std::string operator()(uint64_t n) const { return std::to_string(n); }
        std::string operator()(const PointerDatum& p) const { return fmt::format("{:#x}", p.address); }
        std::string operator()(const SymbolDatum& s) const { return s.text; }
        std::string operator()(const std::string& s) const { return s; }
        std::string operator()(const StackDatum& s) const {
            std::string text;
            for (const SymbolDatum& frame : s.frames) text += "\n    " + frame.text;
            return text;
        }
        std::string operator()(const ListDatum& list) const {
            std::string text;
            for (const Element& element : list.elements) text += (text.empty() ? "" : " ") + to_text(datum_of(element));
            return text;
        }
    };
    return std::visit(Visitor{}, datum);
}

// Other than strings, all text is made here.
std::string to_shown(const Datum& datum, std::string_view but) {
    const bool others = std::holds_alternative<std::string>(datum) || std::holds_alternative<ListDatum>(datum);
    return others ? printable(to_text(datum), but) : to_text(datum);
}

}  // namespace kpl
