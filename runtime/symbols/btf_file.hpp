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

// A type's bytes, by its kind, and how many more there are for each of vlen. 0: a kind that is not known.
struct BtfSize {
    uint8_t bytes = 0, each = 0;
};
inline constexpr uint8_t btf_head = sizeof(btf_type);
inline constexpr BtfSize btf_sizes[32] = {{},                                           // void is in no file
                                          {btf_head + sizeof(uint32_t), 0},             // INT
                                          {btf_head, 0},                                // PTR
                                          {btf_head + sizeof(struct btf_array), 0},     // ARRAY
                                          {btf_head, sizeof(btf_member)},               // STRUCT
                                          {btf_head, sizeof(btf_member)},               // UNION
                                          {btf_head, sizeof(struct btf_enum)},          // ENUM
                                          {btf_head, 0},                                // FWD
                                          {btf_head, 0},                                // TYPEDEF
                                          {btf_head, 0},                                // VOLATILE
                                          {btf_head, 0},                                // CONST
                                          {btf_head, 0},                                // RESTRICT
                                          {btf_head, 0},                                // FUNC
                                          {btf_head, sizeof(btf_param)},                // FUNC_PROTO
                                          {btf_head + sizeof(struct btf_var), 0},       // VAR
                                          {btf_head, sizeof(btf_var_secinfo)},          // DATASEC
                                          {btf_head, 0},                                // FLOAT
                                          {btf_head + sizeof(struct btf_decl_tag), 0},  // DECL_TAG
                                          {btf_head, 0},                                // TYPE_TAG
                                          {btf_head, sizeof(struct btf_enum64)}};       // ENUM64

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
        const BtfSize& size = btf_sizes[btf_kind(&type)];
        return size.bytes + size_t{btf_vlen(&type)} * size.each;
    }
    bool look_at_header(const BtfFile* base);
    // Numbers the types; false: they are not understood.
    bool look_at_types() const {
        return looked_ || pass([](uint32_t, const btf_type*) {});
    }
    // visit(id, type) for each own type; the first to do so numbers them.
    template <class Visit>
    bool pass(Visit visit) const;
    template <class Visit>
    static size_t visit_piece(const uint8_t* piece, size_t size, Visit visit);
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

// visit(type) for those that lie whole in a piece; the bytes that they take. Not inlined: by itself, it keeps all that
// 130,000 types need in registers.
template <class Visit>
[[gnu::noinline]] size_t BtfFile::visit_piece(const uint8_t* piece, size_t size, Visit visit) {
    size_t done = 0;
    while (size - done >= sizeof(btf_type)) {
        const auto* type = reinterpret_cast<const btf_type*>(piece + done);
        const size_t bytes = size_of(*type);
        if (!bytes || bytes > size - done) break;
        visit(type);
        done += bytes;
    }
    return done;
}

// One that is larger than what is passed over at a time is found by passing over more.
template <class Visit>
bool BtfFile::pass(Visit visit) const {
    FileBytes::Pass all(bytes_);
    const bool numbers = !looked_;
    std::vector<uint32_t> places;
    uint32_t own = 0;
    size_t most = pass_size;
    for (size_t at = 0; at != types_size_;) {
        const size_t size = std::min(most, types_size_ - at);
        const uint8_t* piece = all.piece(types_at_ + at, size);
        if (!piece) return false;
        const size_t done = visit_piece(piece, size, [&, visit](const btf_type* type) {
            if (numbers && own % types_a_place == 0)
                places.push_back(static_cast<uint32_t>(at + (reinterpret_cast<const uint8_t*>(type) - piece)));
            visit(first_id_ + own++, type);
        });
        if (!done && size == types_size_ - at) return false;
        if (!done) most *= 2;
        all.done(types_at_ + at, done);
        at += done;
    }
    if (!std::exchange(looked_, true)) {
        places_ = std::move(places);
        end_id_ = first_id_ + own;
    }
    return true;
}

constexpr uint32_t kind_bit(unsigned kind) { return 1u << kind; }

}  // namespace kpl
