// SPDX-License-Identifier: MIT
// vmlinux's symbols by name, from the kernel's own compressed table in its memory: a few milliseconds, where
// /proc/kallsyms has the kernel print every symbol first.
#pragma once

#include <array>
#include <cstdint>
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
    std::vector<Found> find(std::string_view name) const;

  private:
    // Distances from `base`. Where per-CPU symbols are absolute, those of the others are negative, from -1 on.
    struct Addresses {
        uint64_t offsets = 0, base = 0;
        bool negative = false;
    };
    explicit KernelNames(Read read) : read_(std::move(read)) {}
    bool read_tokens(uint64_t table, uint64_t index);
    bool read_names(uint64_t names);
    bool read_addresses(uint64_t offsets, uint64_t relative_base, uint64_t stext);
    std::optional<int32_t> offset(uint32_t symbol) const;
    std::optional<uint64_t> address(uint32_t symbol) const;
    template <class Visit>
    void each_named(std::string_view name, Visit visit) const;
    bool is_named(const uint8_t* code, const uint8_t* end, std::string_view name) const;

    // A name is a length and that many tokens; a token stands for some characters. The first character of all is
    // the kind. The length takes two bytes, seven bits in each, where the first has its top bit set.
    std::array<std::string, 256> tokens_;
    std::unique_ptr<uint8_t[]> names_;
    uint32_t count_ = 0;
    Addresses addresses_;
    Read read_;
};

}  // namespace kpl
