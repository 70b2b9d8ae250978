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
constexpr size_t usual_name_bytes = 10;  // of a symbol
constexpr size_t most_name_bytes = 64 << 20;
constexpr size_t token_bytes = 64 << 10;  // token_index has 16 bits
constexpr size_t read_size = 64 << 10;

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

// The length of a name's code, and how many bytes tell it.
std::pair<size_t, size_t> code_length(const uint8_t* at) {
    if (!(at[0] & 0x80)) return {at[0], 1};
    return {(at[0] & 0x7f) | size_t{at[1]} << 7, 2};
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
    if (!names.read_tokens(at[1], at[2]) || !names.read_names(at[3]) ||
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
        if (tokens_[i].empty()) return false;
    }
    return true;
}

// How long the table is shows only while it is read.
bool KernelNames::read_names(uint64_t names) {
    size_t size = 0, capacity = 0, at = 0;
    uint32_t symbols = 0;
    while (symbols < count_) {
        const size_t more = size ? read_size : (count_ * usual_name_bytes | 4095) + 1;
        if (size + more > capacity) {
            capacity = 2 * (size + more);
            if (capacity > most_name_bytes) return false;
            auto larger = std::make_unique_for_overwrite<uint8_t[]>(capacity);
            if (size) std::memcpy(larger.get(), names_.get(), size);
            names_ = std::move(larger);
        }
        if (!read_into(read_, names + size, std::span(names_.get() + size, more))) return false;
        size += more;
        for (; symbols < count_ && at + 2 <= size; symbols++) {
            const auto [length, width] = code_length(&names_[at]);
            if (length == 0) return false;
            if (at + width + length > size) break;
            at += width + length;
        }
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
    const uint8_t* at = names_.get();
    for (uint32_t i = 0; i < count_ && (i < first || address(i) == stext); i++) {
        const auto [length, width] = code_length(at);
        const uint8_t* code = at + width;
        at = code + length;
        if (i >= first && is_named(code, at, "_stext")) return true;
    }
    return false;
}

std::optional<int32_t> KernelNames::offset(uint32_t symbol) const {
    int32_t read = 0;
    if (!read_into(read_, addresses_.offsets + symbol * sizeof read, std::span(&read, 1))) return std::nullopt;
    return read;
}

std::optional<uint64_t> KernelNames::address(uint32_t symbol) const {
    const auto read = offset(symbol);
    if (!read) return std::nullopt;
    if (!addresses_.negative) return addresses_.base + static_cast<uint32_t>(*read);
    return *read >= 0 ? static_cast<uint64_t>(*read) : addresses_.base - 1 - static_cast<int64_t>(*read);
}

bool KernelNames::is_named(const uint8_t* code, const uint8_t* end, std::string_view name) const {
    size_t skip = 1;  // the kind
    for (; code != end; code++, skip = 0) {
        const std::string_view part = std::string_view(tokens_[*code]).substr(skip);
        if (!name.starts_with(part)) return false;
        name.remove_prefix(part.size());
    }
    return name.empty();
}

// Most names differ in their first character: that is all that is looked at of them.
template <class Visit>
void KernelNames::each_named(std::string_view name, Visit visit) const {
    if (name.empty()) return;
    bool starts[256], continues[256];  // as the token with the kind, or as the one after it
    for (int i = 0; i < 256; i++) {
        const std::string& token = tokens_[i];
        starts[i] = token.size() == 1 || token[1] == name[0];
        continues[i] = token[0] == name[0];
    }
    const uint8_t* at = names_.get();
    for (uint32_t i = 0; i < count_; i++) {
        const auto [length, width] = code_length(at);
        const uint8_t *code = at + width, *end = code + length;
        at = end;
        if (!starts[*code]) continue;
        if (length > 1 && !continues[code[1]] && tokens_[*code].size() == 1) continue;
        if (is_named(code, end, name)) visit(i, tokens_[*code][0]);
    }
}

std::vector<KernelNames::Found> KernelNames::find(std::string_view name) const {
    std::vector<Found> found;
    each_named(name, [&](uint32_t symbol, char kind) {
        if (const auto addr = address(symbol)) found.push_back({*addr, kind});
    });
    return found;
}

}  // namespace kpl
