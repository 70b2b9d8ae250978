// SPDX-License-Identifier: MIT
// The form: Documentation/bpf/btf.rst of Linux. libbpf's accessors are used, but not its reader, which has vmlinux's 5
// MB in memory twice, and a number for each of 130,000 types. Here they stay in the file: a pass over all of it leaves
// nothing resident.
#include "symbols/btf_file.hpp"

#include <algorithm>
#include <cstring>

namespace kpl {
namespace {

// Kinds that are asked for by name.
constexpr uint32_t indexed_kinds = kind_bit(BTF_KIND_INT) | kind_bit(BTF_KIND_STRUCT) | kind_bit(BTF_KIND_UNION) |
                                   kind_bit(BTF_KIND_ENUM) | kind_bit(BTF_KIND_FWD) | kind_bit(BTF_KIND_TYPEDEF) |
                                   kind_bit(BTF_KIND_FUNC) | kind_bit(BTF_KIND_VAR) | kind_bit(BTF_KIND_FLOAT) |
                                   kind_bit(BTF_KIND_ENUM64);

// An index costs what three searches do.
constexpr size_t searches_before_index = 3;

// Thousands of searches lead all over the file.
constexpr uint32_t searches_before_drop = 256;

constexpr const char* kernel_types = "/sys/kernel/btf/vmlinux";
constexpr const char* cache_name = "vmlinux.btf";

}  // namespace

Result<BtfFile> BtfFile::open(const std::string& path, const BtfFile* base) {
    const Error not_btf{Errc::system, path + ": no BTF that is understood"};
    const bool kernels = path == kernel_types;
    BtfFile file;
    file.bytes_ = TRY(FileBytes::open(path, kernels ? cache_name : ""));
    // The kernel's own is looked at by the first search, on the way.
    if (!file.look_at_header(base) || (!kernels && !file.look_at_types())) return not_btf;
    return file;
}

bool BtfFile::look_at_header(const BtfFile* base) {
    btf_header header{};
    if (bytes_.size() < sizeof header) return false;
    const uint8_t* read = bytes_.at(0, sizeof header);
    if (!read) return false;
    memcpy(&header, read, sizeof header);
    if (header.magic != BTF_MAGIC || header.version != BTF_VERSION || header.hdr_len < sizeof header) return false;
    if (header.hdr_len > bytes_.size() || header.hdr_len % 4 || header.type_off % 4) return false;
    const size_t room = bytes_.size() - header.hdr_len;
    const auto fits = [room](uint32_t at, uint32_t size) { return at <= room && size <= room - at; };
    if (!fits(header.type_off, header.type_len) || !fits(header.str_off, header.str_len)) return false;
    types_at_ = size_t{header.hdr_len} + header.type_off;
    types_size_ = header.type_len;
    strings_at_ = size_t{header.hdr_len} + header.str_off;
    strings_size_ = header.str_len;
    if (base) {
        base_ = base;
        end_id_ = first_id_ = base->end_id();
        strings_before_ = base->strings_before_ + base->strings_size_;
    }
    if (!strings_size_) return base != nullptr;
    const auto is_zero = [this](size_t offset) {
        const uint8_t* byte = bytes_.at(strings_at_ + offset, 1);
        return byte && !*byte;
    };
    return is_zero(strings_size_ - 1) && (base || is_zero(0));
}

const btf_type* BtfFile::type(uint32_t id) const {
    static constexpr btf_type nothing{};
    if (id == 0) return &nothing;
    if (id < first_id_) return base_->type(id);
    if (!look_at_types() || id >= end_id_) return nullptr;
    const uint32_t own = id - first_id_;
    size_t at = types_at_ + places_[own / types_a_place];
    const auto head = [&] { return reinterpret_cast<const btf_type*>(bytes_.at(at, sizeof(btf_type))); };
    const btf_type* found = head();
    for (uint32_t i = 0; found && i < own % types_a_place; i++) {
        at += size_of(*found);
        found = head();
    }
    return found && bytes_.at(at, size_of(*found)) ? found : nullptr;
}

std::string_view BtfFile::name(uint32_t offset) const {
    if (offset < strings_before_) return base_->name(offset);
    if (offset - strings_before_ >= strings_size_) return "";
    return bytes_.text(strings_at_ + (offset - strings_before_));
}

// Where the names stand among the file's strings; each stands there once. 0: nowhere.
void BtfFile::find_strings(std::span<Search> searches) const {
    std::vector<std::string> between;
    size_t longest = 0, left = searches.size();
    for (const Search& search : searches) {
        between.push_back('\0' + search.wanted + '\0');
        longest = std::max(longest, between.back().size());
    }
    FileBytes::Pass all(bytes_);
    for (size_t from = 0; from < strings_size_ && left; from += pass_size) {
        const size_t size = std::min(strings_size_ - from, pass_size + longest - 1);
        const uint8_t* piece = all.piece(strings_at_ + from, size);
        if (!piece) return;
        for (size_t i = 0; i < searches.size(); i++) {
            if (searches[i].name_off) continue;
            const void* at = memmem(piece, size, between[i].data(), between[i].size());
            if (!at) continue;
            searches[i].name_off =
                static_cast<uint32_t>(from + 1 + static_cast<size_t>(static_cast<const uint8_t*>(at) - piece));
            left--;
        }
        all.done(strings_at_ + from, size);
    }
}

void BtfFile::find_in_order(std::vector<std::string> names, uint32_t kinds) const {
    if (!searches_.empty()) bytes_.make_whole();  // what costs as much as half a copy is done once
    const size_t before = searches_.size();
    for (std::string& name : names) searches_.push_back({std::move(name), kinds, 0, {}});
    const auto searches = std::span(searches_).subspan(before);
    find_strings(searches);
    // A bit for each of 64 classes of names: of 130,000 types, few are compared.
    uint64_t classes = 0;
    for (const Search& search : searches)
        if (search.name_off) classes |= uint64_t{1} << search.name_off % 64;
    if (!classes) return;
    const bool read = pass([&](uint32_t id, const btf_type* t) {
        if (!t->name_off || !(classes >> t->name_off % 64 & 1)) return;
        for (Search& search : searches)
            if (t->name_off == search.name_off && (kind_bit(btf_kind(t)) & kinds)) search.found.push_back(id);
    });
    if (!read)
        for (Search& search : searches) search.found.clear();
}

void BtfFile::expect(std::vector<std::string> names, uint32_t kinds) const {
    if (names.size() > searches_before_index)
        bytes_.make_whole();
    else if (searches_.empty() && !index_.built())
        find_in_order(std::move(names), kinds);
}

std::vector<uint32_t> BtfFile::find(std::string_view wanted, uint32_t kinds) const {
    // A module's types may be named in vmlinux's strings.
    if (!base_ && !index_.built()) {
        for (const Search& search : searches_)
            if (search.wanted == wanted && search.kinds == kinds) return search.found;
        if (searches_.size() < searches_before_index) {
            find_in_order({std::string(wanted)}, kinds);
            return searches_.back().found;
        }
    }
    if (!look_at_types()) return {};
    if (!index_.built())
        index_.build(end_id_ - first_id_, [&](const auto& add) {
            each_type([&](uint32_t id, const btf_type* t) {
                if (t->name_off && (kind_bit(btf_kind(t)) & indexed_kinds)) add(id - first_id_, name(t->name_off));
            });
        });
    if (++searched_ % searches_before_drop == 0) bytes_.drop(0, bytes_.size());
    std::vector<uint32_t> found;
    index_.each_candidate(wanted, [&](uint32_t i) {
        const btf_type* t = type(first_id_ + i);
        if ((kind_bit(btf_kind(t)) & kinds) && name(t->name_off) == wanted) found.push_back(first_id_ + i);
    });
    return found;
}

}  // namespace kpl
