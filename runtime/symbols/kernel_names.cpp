// SPDX-License-Identifier: MIT
// Saves reading /proc/kallsyms for a few names of vmlinux. Gives up for good, and kallsyms.cpp reads that file, where
// /proc/kcore can't be read, where VMCOREINFO does not name the table's parts (before 6.0), or where a part does not
// read as it should.
// The table's form: kernel/kallsyms.c and scripts/kallsyms.c of Linux; where its parts lie: VMCOREINFO's kallsyms_*.
#include "symbols/kernel_names.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace kpl {
namespace {

constexpr uint32_t most_symbols = 1 << 22;
constexpr size_t most_name_bytes = 64 << 20;
constexpr size_t token_bytes = 64 << 10;  // token_index has 16 bits

// 0: there is no such line.
uint64_t symbol_in(const std::string& vmcoreinfo, std::string_view name) {
    const std::string start = "SYMBOL(" + std::string(name) + ")=";
    size_t at = vmcoreinfo.find(start);
    if (at == std::string::npos || (at != 0 && vmcoreinfo[at - 1] != '\n')) return 0;
    at += start.size();
    uint64_t value = 0;
    std::from_chars(vmcoreinfo.data() + at, vmcoreinfo.data() + vmcoreinfo.size(), value, 16);
    return value;
}

template <class T, size_t N>
bool read_into(const KernelNames::Read& read, uint64_t addr, std::span<T, N> into) {
    return read(addr, {reinterpret_cast<uint8_t*>(into.data()), into.size_bytes()});
}

}  // namespace

std::optional<KernelNames> KernelNames::load(const std::string& vmcoreinfo, Read read) {
    uint64_t at[6];
    constexpr const char* parts[6] = {"kallsyms_num_syms", "kallsyms_token_table", "kallsyms_token_index",
                                      "kallsyms_names",    "kallsyms_offsets",     "kallsyms_relative_base"};
    for (int i = 0; i < 6; i++)
        if (!(at[i] = symbol_in(vmcoreinfo, parts[i]))) return std::nullopt;
    KernelNames names(std::move(read));
    if (!read_into(names.read_, at[0], std::span(&names.count_, 1)) || names.count_ > most_symbols) return std::nullopt;
    // The names lie before the tokens, with little between them.
    names.names_ = at[3];
    names.names_end_ = at[1];
    if (at[1] <= at[3] || at[1] - at[3] > most_name_bytes || !names.read_tokens(at[1], at[2]) ||
        !names.read_addresses(at[4], at[5], symbol_in(vmcoreinfo, "_stext")))
        return std::nullopt;
    return names;
}

bool KernelNames::read_tokens(uint64_t table, uint64_t index) {
    uint16_t starts[256];
    if (!read_into(read_, index, std::span(starts))) return false;
    // The last token's end is not known: it is short.
    std::vector<char> text(std::min(token_bytes, size_t{starts[255]} + 256));
    if (!read_into(read_, table, std::span(text))) return false;
    for (int i = 0; i < 256; i++) {
        if (starts[i] >= text.size()) return false;
        const char* start = text.data() + starts[i];
        tokens_[i].assign(start, strnlen(start, text.size() - starts[i]));
        if (tokens_[i].empty() || tokens_[i].size() > most_token_size) return false;
        std::memcpy(padded_[i].text, tokens_[i].data(), tokens_[i].size());
        padded_[i].size = static_cast<uint8_t>(tokens_[i].size());
    }
    return true;
}

// The kernel is smaller than 2 GiB: whether distances are negative, that of the last symbol tells. Symbols are in the
// order of their addresses: where one has the name and the address that it should, the table reads as it should.
bool KernelNames::read_addresses(uint64_t offsets, uint64_t relative_base, uint64_t stext) {
    addresses_.offsets = offsets;
    if (!stext || !count_ || !read_into(read_, relative_base, std::span(&addresses_.base, 1))) return false;
    const auto last = offset(count_ - 1);
    if (!last) return false;
    addresses_.negative = *last < 0;
    uint32_t first = 0, end = count_;
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        if (address(middle).value_or(0) < stext)
            first = middle + 1;
        else
            end = middle;
    }
    bool found = false;
    const bool read = each_code([&](uint32_t i, const uint8_t* code, const uint8_t* code_end) {
        if (i < first) return true;
        found = address(i) == stext && is_named(code, code_end, "_stext");
        return !found && address(i) == stext;
    });
    return read && found;
}

std::optional<int32_t> KernelNames::offset(uint32_t symbol) const {
    int32_t read = 0;
    if (!read_into(read_, addresses_.offsets + symbol * sizeof read, std::span(&read, 1))) return std::nullopt;
    return read;
}

std::optional<uint64_t> KernelNames::address(uint32_t symbol) const {
    const auto read = offset(symbol);
    return read ? std::optional(address_of(*read)) : std::nullopt;
}

// The name with its kind before it; 0: it is longer than any.
size_t KernelNames::expand(const uint8_t* code, const uint8_t* end, char (&into)[most_name_size]) const {
    size_t size = 0;
    for (; code != end; code++) {
        const Padded& token = padded_[*code];
        if (size + most_token_size > most_name_size) return 0;
        std::memcpy(into + size, token.text, most_token_size);
        size += token.size;
    }
    return size;
}

bool KernelNames::is_named(const uint8_t* code, const uint8_t* end, std::string_view name) const {
    const char *at = name.data(), *const name_end = at + name.size();
    size_t i = 1;  // behind the kind
    for (; code != end; code++, i = 0)
        for (const Padded& token = padded_[*code]; i < token.size; i++)
            if (at == name_end || *at++ != token.text[i]) return false;
    return at == name_end;
}

// Most names differ in their first character: that is all that is looked at of them.
std::vector<std::vector<KernelNames::Found>> KernelNames::find_all(std::span<const std::string_view> names) const {
    std::vector<std::vector<Found>> found(names.size());
    std::string begins;
    for (const std::string_view name : names) begins += name.substr(0, 1);
    if (begins.empty()) return found;
    const bool read = each_code(begins, [&](uint32_t symbol, const uint8_t* code, const uint8_t* end) {
        for (size_t i = 0; i < names.size(); i++) {
            if (names[i].empty() || !is_named(code, end, names[i])) continue;
            if (const auto addr = address(symbol)) found[i].push_back({*addr, tokens_[*code][0]});
        }
    });
    return read ? found : std::vector<std::vector<Found>>(names.size());
}

}  // namespace kpl
