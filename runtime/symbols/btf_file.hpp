// SPDX-License-Identifier: MIT
// One BTF file, vmlinux's or a module's, with an index of its names.
#pragma once

#include <bpf/btf.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "symbols/file_bytes.hpp"
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
    uint32_t end_id() const {
        look_at_types();
        return end_id_;
    }
    const btf_type* type(uint32_t id) const;       // nullptr: no such type
    std::string_view name(uint32_t offset) const;  // of a string by its offset

    // visit(id, type) for each own type, in the order of the file.
    template <class Visit>
    void each_type(Visit visit) const {
        bytes_.make_whole();
        pass(visit);
    }
    // Leaves the copy that the next start goes by.
    void keep() const { bytes_.keep(); }
    // Own types of that name whose kind is in `kinds` (a bit for each BTF_KIND), in the order of the file.
    std::vector<uint32_t> find(std::string_view name, uint32_t kinds) const;
    // find() will be asked for these: a few are found in one pass.
    void expect(std::vector<std::string> names, uint32_t kinds) const;

  private:
    // How much of the file is passed over at a time.
    static constexpr size_t pass_size = 64 << 10;
    // An id is found by going on from the nearest of these.
    static constexpr uint32_t types_a_place = 16;

    BtfFile() = default;
    static size_t size_of(const btf_type& type) {
        const BtfBehind& rest = btf_behind[btf_kind(&type)];
        return sizeof type + rest.bytes + size_t{btf_vlen(&type)} * rest.each;
    }
    bool look_at_header(const BtfFile* base);
    // Numbers the types; false: they are not understood.
    bool look_at_types() const {
        return looked_ || pass([](uint32_t, const btf_type*) {});
    }
    // visit(id, type) for each own type; the first to do so numbers them.
    template <class Visit>
    bool pass(Visit visit) const;
    struct Search {
        std::string wanted;
        uint32_t kinds;
        uint32_t name_off = 0;
        std::vector<uint32_t> found;
    };
    void find_strings(std::span<Search> searches) const;
    void find_in_order(std::vector<std::string> names, uint32_t kinds) const;

    mutable FileBytes bytes_;
    const BtfFile* base_ = nullptr;
    size_t types_at_ = 0, types_size_ = 0, strings_at_ = 0;  // in the file
    uint32_t strings_size_ = 0, strings_before_ = 0;         // those before are the base's
    mutable std::vector<uint32_t> places_;                   // of each 16th own type, from types_at_
    uint32_t first_id_ = 1;
    mutable uint32_t end_id_ = 1;
    mutable bool looked_ = false;
    mutable std::vector<Search> searches_;  // before there is an index
    mutable uint32_t searched_ = 0;         // with one
    mutable NameIndex index_;  // of own types, by id - first_id; built with the first find() that makes it worth it
};

// One that is larger than what is passed over at a time is found by passing over more.
template <class Visit>
bool BtfFile::pass(Visit visit) const {
    FileBytes::Pass all(bytes_);
    const bool numbers = !looked_;
    std::vector<uint32_t> places;
    uint32_t id = first_id_;
    size_t most = pass_size;
    for (size_t at = 0; at != types_size_;) {
        const size_t size = std::min(most, types_size_ - at);
        const uint8_t* piece = all.piece(types_at_ + at, size);
        if (!piece) return false;
        size_t done = 0;
        while (size - done >= sizeof(btf_type)) {
            const auto* type = reinterpret_cast<const btf_type*>(piece + done);
            if (!btf_behind[btf_kind(type)].known) return false;
            const size_t bytes = size_of(*type);
            if (bytes > size - done) break;
            if (numbers && (id - first_id_) % types_a_place == 0) places.push_back(static_cast<uint32_t>(at + done));
            visit(id++, type);
            done += bytes;
        }
        if (!done && size == types_size_ - at) return false;
        if (!done) most *= 2;
        all.done(types_at_ + at, done);
        at += done;
    }
    if (!std::exchange(looked_, true)) {
        places_ = std::move(places);
        end_id_ = id;
    }
    return true;
}

constexpr uint32_t kind_bit(unsigned kind) { return 1u << kind; }

}  // namespace kpl
