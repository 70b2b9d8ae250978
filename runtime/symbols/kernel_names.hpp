// SPDX-License-Identifier: MIT
// vmlinux's symbols by name, from the kernel's own compressed table in its memory: a few milliseconds, where
// /proc/kallsyms has the kernel print every symbol first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kpl {

class KernelNames {
  public:
    // Reads kernel memory; false where there is none.
    using Read = std::function<bool(uint64_t addr, std::span<uint8_t> into)>;

    // nullopt: this kernel does not say where its table lies (before 6.0), or has it in a form that is not known.
    static std::optional<KernelNames> load(const std::string& vmcoreinfo, Read read);

    struct Found {
        uint64_t addr;
        char kind;  // as kallsyms prints it
    };
    // All symbols of that name, in the order of their addresses.
    std::vector<Found> find(std::string_view name) const { return std::move(find_all({&name, 1})[0]); }
    // The same for several names, which takes hardly longer.
    std::vector<std::vector<Found>> find_all(std::span<const std::string_view> names) const;

    // All that begin so (0: all), in that order; `visit(address, kind, name)`. False: they can't be read.
    template <class Visit>
    bool each(char begin, Visit visit) const {
        std::vector<int32_t> offsets(count_);
        if (!read_(addresses_.offsets, {reinterpret_cast<uint8_t*>(offsets.data()), count_ * sizeof(int32_t)}))
            return false;
        char text[most_name_size];
        size_t size = 1;
        const bool read =
            each_code({&begin, begin ? 1u : 0u}, [&](uint32_t i, const uint8_t* code, const uint8_t* end) {
                if (size) size = expand(code, end, text);
                if (size && (!begin || text[1] == begin))
                    visit(address_of(offsets[i]), text[0], std::string_view(text + 1, size - 1));
            });
        return read && size != 0;
    }

  private:
    static constexpr size_t most_name_size = 4096, most_token_size = 32;
    // The table is read in pieces that stay in a processor's cache. The kernel's names have 511 characters at most.
    static constexpr size_t piece_size = 32 << 10, most_code_size = 1 << 10;

    // Distances from `base`. Where per-CPU symbols are absolute, those of the others are negative, from -1 on.
    struct Addresses {
        uint64_t offsets = 0, base = 0;
        bool negative = false;
    };
    explicit KernelNames(Read read) : read_(std::move(read)) {}
    bool read_tokens(uint64_t table, uint64_t index);
    bool read_addresses(uint64_t offsets, uint64_t relative_base, uint64_t stext);
    std::optional<int32_t> offset(uint32_t symbol) const;
    uint64_t address_of(int32_t offset) const {
        if (!addresses_.negative) return addresses_.base + static_cast<uint32_t>(offset);
        return offset >= 0 ? static_cast<uint64_t>(offset) : addresses_.base - 1 - static_cast<int64_t>(offset);
    }
    std::optional<uint64_t> address(uint32_t symbol) const;
    size_t expand(const uint8_t* code, const uint8_t* end, char (&into)[most_name_size]) const;
    // visit(symbol, its name's code, the code's end) for all that may begin with one of these; none of them: for all.
    // False: the table ends before.
    template <class Visit>
    bool each_code(std::string_view begins, Visit visit) const {
        enum Begin : uint8_t { No, Yes, AsTheNext };
        Begin starts[256];    // as the token with the kind
        bool continues[256];  // as the one after it
        const auto may_begin = [&](char c) { return begins.empty() || begins.find(c) != begins.npos; };
        for (int i = 0; i < 256; i++) {
            const std::string& token = tokens_[i];
            starts[i] = token.size() == 1 ? AsTheNext : may_begin(token[1]) ? Yes : No;
            continues[i] = may_begin(token[0]);
        }
        return each_code([&](uint32_t i, const uint8_t* code, const uint8_t* end) {
            const Begin start = starts[*code];
            if (start == Yes || (start == AsTheNext && (end - code == 1 || continues[code[1]]))) visit(i, code, end);
            return true;
        });
    }
    // The same for all, in the order of their addresses, until it returns false.
    template <class Visit>
    bool each_code(Visit visit) const {
        const auto piece = std::make_unique_for_overwrite<uint8_t[]>(piece_size);
        const uint8_t *at = piece.get(), *limit = at;
        uint64_t unread = names_;
        for (uint32_t i = 0; i < count_; i++) {
            if (static_cast<size_t>(limit - at) < most_code_size && unread != names_end_) {
                const auto left = static_cast<size_t>(limit - at);
                const size_t more = std::min<size_t>(piece_size - left, names_end_ - unread);
                std::memmove(piece.get(), at, left);
                if (!read_(unread, {piece.get() + left, more})) return false;
                unread += more;
                at = piece.get();
                limit = at + left + more;
            }
            if (limit - at < 2) return false;
            size_t length = *at++;
            if (length & 0x80) length = (length & 0x7f) | size_t{*at++} << 7;
            if (!length || static_cast<size_t>(limit - at) < length) return false;
            const uint8_t* const code = at;
            at += length;
            if (!visit(i, code, at)) return true;
        }
        return true;
    }
    bool is_named(const uint8_t* code, const uint8_t* end, std::string_view name) const;

    // A name is a length and that many tokens; a token stands for some characters. The first character of all is
    // the kind. The length takes two bytes, seven bits in each, where the first has its top bit set.
    std::array<std::string, 256> tokens_;
    // The same, to be copied whole.
    struct Padded {
        char text[most_token_size];
        uint8_t size;
    };
    std::array<Padded, 256> padded_{};
    uint64_t names_ = 0, names_end_ = 0;  // where they lie, with what lies behind them
    uint32_t count_ = 0;
    Addresses addresses_;
    Read read_;
};

}  // namespace kpl
