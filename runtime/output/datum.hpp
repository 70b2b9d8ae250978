// SPDX-License-Identifier: MIT
// Datum: one value that came from the kernel, and its decoding from records, keys and map values.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ir/unit.hpp"
#include "output/names.hpp"
#include "programs/user_symbols.hpp"
#include "symbols/kallsyms.hpp"

namespace kpl {

struct PointerDatum {
    uint64_t address;
};
// A resolved address. `text` is what a script sees: the bare name at a symbol's start, else name+0x….
struct SymbolDatum {
    uint64_t address;
    std::string text;
    uint64_t space = 0;  // of a process's: kpl_space()
};
struct StackDatum {
    std::vector<SymbolDatum> frames;  // innermost first
    bool kernel = true;
    uint64_t space = 0;  // of a process's
};

// What a list may hold.
using Element = std::variant<Nil, bool, int64_t, uint64_t, PointerDatum, SymbolDatum, std::string>;
struct ListDatum {
    std::vector<Element> elements;
};

using Datum = std::variant<Nil, bool, int64_t, uint64_t, PointerDatum, SymbolDatum, std::string, StackDatum, ListDatum>;

inline Datum datum_of(const Element& element) {
    return std::visit([](const auto& value) { return Datum{value}; }, element);
}

class Decoder {
  public:
    // Without `users`, addresses of processes have no names.
    explicit Decoder(Kallsyms& symbols, UserSymbols* users = nullptr)
        : symbols_(&symbols), users_(users), names_(std::make_shared<Names>()) {}

    // The fields of a record whose header starts at `record` (kpl_rec::len bytes), in the layout's order.
    std::vector<Datum> record(const Layout& layout, std::span<const uint8_t> record) const;
    Datum record_field(const Layout& layout, std::span<const uint8_t> record, size_t at) const;
    // The fields of a key, a map value or instance data.
    std::vector<Datum> fixed(const Layout& layout, std::span<const uint8_t> bytes) const;
    SymbolDatum symbol(uint64_t address) const;  // the bare name at a symbol's start
    SymbolDatum frame(uint64_t address) const;   // always with its offset
    SymbolDatum user_symbol(uint64_t space, uint64_t address) const;
    std::string named(const Naming& naming, uint64_t word) const { return names_->text(naming, word); }

  private:
    Element number(const FieldLayout& field, FieldKind kind, uint64_t word) const;
    Datum bytes(const FieldLayout& field, std::span<const uint8_t> bytes) const;
    ListDatum list(const FieldLayout& field, std::span<const uint8_t> bytes) const;
    StackDatum stack(FieldKind kind, std::span<const uint8_t> addresses) const;

    Kallsyms* symbols_;
    UserSymbols* users_;
    std::shared_ptr<Names> names_;
};

// The bytes of a key from values that user space gives, in the layout's order. An error names the element.
Result<std::string> encode(const Layout& layout, const std::vector<Datum>& values);

// The bytes of a map's value from fields by name; a field that is not named is nil. An error names the field.
Result<std::string> encode_named(const Layout& layout, const std::vector<std::pair<std::string, Datum>>& values);

// The bytes of FieldKind::Inet as text.
std::string inet_text(std::span<const uint8_t> bytes);

// As `print` shows it: numbers in decimal, nil, true, 0x…, names, strings, stacks one frame a line,
// lists with spaces between their elements.
std::string to_text(const Datum& datum);
// The same for a terminal: see printable().
std::string to_shown(const Datum& datum, std::string_view but = {});

}  // namespace kpl
