// SPDX-License-Identifier: MIT
// One BTF file, vmlinux's or a module's, with an index of its names.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "symbols/name_index.hpp"

struct btf;
struct btf_type;

namespace kpl {

// Ids here are the file's own: a module's begin where vmlinux's end, and name vmlinux's types by vmlinux's
// ids.
class BtfFile {
  public:
    // `base`: vmlinux, for a module. Reads all of the file.
    static Result<BtfFile> open(const std::string& path, const BtfFile* base = nullptr);
    BtfFile(BtfFile&&) noexcept;
    BtfFile& operator=(BtfFile&&) noexcept;
    ~BtfFile();

    uint32_t first_id() const { return first_id_; }  // of this file's own types
    uint32_t end_id() const { return end_id_; }
    const btf_type* type(uint32_t id) const;       // nullptr: no such type
    std::string_view name(uint32_t offset) const;  // of a string by its offset

    // Own types of that name whose kind is in `kinds` (a bit for each BTF_KIND), in the order of the file.
    std::vector<uint32_t> find(std::string_view name, uint32_t kinds) const;

    // Copies the running kernel's BTF to where the next start finds it sooner.
    void keep();

  private:
    static btf* parse_cached(const std::string& path);
    struct Free {
        void operator()(btf* b) const;
    };
    BtfFile(btf* b, const BtfFile* base);

    std::unique_ptr<btf, Free> btf_;
    uint32_t string_offset(std::string_view wanted) const;
    std::vector<uint32_t> find_in_order(std::string_view wanted, uint32_t kinds) const;

    uint32_t first_id_ = 1, end_id_ = 1;
    bool keep_ = false;  // it came from the kernel, slowly
    struct Search {
        std::string wanted;
        uint32_t kinds;
        std::vector<uint32_t> found;
    };
    mutable std::vector<Search> searches_;  // before there is an index
    mutable NameIndex index_;  // of own types, by id - first_id; built with the first find() that makes it worth it
};

constexpr uint32_t kind_bit(unsigned kind) { return 1u << kind; }

}  // namespace kpl
