// SPDX-License-Identifier: MIT
// One BTF file, vmlinux's or a module's, with an index of its names.
#pragma once

#include <bpf/btf.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapping.hpp"
#include "base/result.hpp"
#include "symbols/name_index.hpp"

namespace kpl {

// What stands behind a type's head, by its kind: so many bytes, and so many for each of vlen.
struct BtfBehind {
    bool known;
    uint8_t bytes, each;
};
inline constexpr BtfBehind btf_behind[32] = {{false, 0, 0},                           // void is in no file
                                             {true, sizeof(uint32_t), 0},             // INT
                                             {true, 0, 0},                            // PTR
                                             {true, sizeof(struct btf_array), 0},     // ARRAY
                                             {true, 0, sizeof(btf_member)},           // STRUCT
                                             {true, 0, sizeof(btf_member)},           // UNION
                                             {true, 0, sizeof(struct btf_enum)},      // ENUM
                                             {true, 0, 0},                            // FWD
                                             {true, 0, 0},                            // TYPEDEF
                                             {true, 0, 0},                            // VOLATILE
                                             {true, 0, 0},                            // CONST
                                             {true, 0, 0},                            // RESTRICT
                                             {true, 0, 0},                            // FUNC
                                             {true, 0, sizeof(btf_param)},            // FUNC_PROTO
                                             {true, sizeof(struct btf_var), 0},       // VAR
                                             {true, 0, sizeof(btf_var_secinfo)},      // DATASEC
                                             {true, 0, 0},                            // FLOAT
                                             {true, sizeof(struct btf_decl_tag), 0},  // DECL_TAG
                                             {true, 0, 0},                            // TYPE_TAG
                                             {true, 0, sizeof(struct btf_enum64)}};   // ENUM64

// Ids here are the file's own: a module's begin where vmlinux's end, and name vmlinux's types by vmlinux's
// ids.
class BtfFile {
  public:
    // `base`: vmlinux, for a module; it must outlive this. Each type lies within the file, whose strings end.
    static Result<BtfFile> open(const std::string& path, const BtfFile* base = nullptr);

    uint32_t first_id() const { return first_id_; }  // of this file's own types
    uint32_t end_id() const { return end_id_; }
    const btf_type* type(uint32_t id) const;       // nullptr: no such type
    std::string_view name(uint32_t offset) const;  // of a string by its offset

    // visit(id, type) for each own type, in the order of the file.
    template <class Visit>
    void each_type(Visit visit) const {
        const uint8_t *at = types_, *kept = at;
        for (uint32_t id = first_id_; id < end_id_; id++) {
            const auto* t = reinterpret_cast<const btf_type*>(at);
            visit(id, t);
            at += size_of(*t);
            if (at - kept >= pass_size) drop(std::exchange(kept, at), at);
        }
        drop(kept, at);
    }
    // Own types of that name whose kind is in `kinds` (a bit for each BTF_KIND), in the order of the file.
    std::vector<uint32_t> find(std::string_view name, uint32_t kinds) const;

  private:
    // How much of the file is passed over before it is dropped.
    static constexpr ptrdiff_t pass_size = 64 << 10;
    // An id is found by going on from the nearest of these.
    static constexpr uint32_t types_a_place = 16;

    BtfFile() = default;
    static size_t size_of(const btf_type& type) {
        const BtfBehind& rest = btf_behind[btf_kind(&type)];
        return sizeof type + rest.bytes + size_t{btf_vlen(&type)} * rest.each;
    }
    bool look_at_header(const BtfFile* base);
    bool look_at_types();
    void drop(const uint8_t* from, const uint8_t* to) const;
    uint32_t string_offset(std::string_view wanted) const;
    std::vector<uint32_t> find_in_order(std::string_view wanted, uint32_t kinds) const;

    Mapping bytes_;
    bool is_copy_ = false;  // of a file, which has what is dropped here
    const BtfFile* base_ = nullptr;
    const uint8_t *types_ = nullptr, *types_end_ = nullptr;
    const char* strings_ = nullptr;
    uint32_t strings_size_ = 0, strings_before_ = 0;  // those before are the base's
    std::vector<uint32_t> places_;                    // of each 16th own type, from types_
    uint32_t first_id_ = 1, end_id_ = 1;
    struct Search {
        std::string wanted;
        uint32_t kinds;
        std::vector<uint32_t> found;
    };
    mutable std::vector<Search> searches_;  // before there is an index
    mutable uint32_t searched_ = 0;         // with one
    mutable NameIndex index_;  // of own types, by id - first_id; built with the first find() that makes it worth it
};

constexpr uint32_t kind_bit(unsigned kind) { return 1u << kind; }

}  // namespace kpl
