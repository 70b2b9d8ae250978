// SPDX-License-Identifier: MIT
// The form: Documentation/bpf/btf.rst of Linux. libbpf's accessors are used, but not its reader, which has vmlinux's 5
// MB in memory twice, and a number for each of 130,000 types. Here they stay in a file that is mapped, of which a pass
// over all of it leaves nothing resident.
#include "symbols/btf_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/read_at.hpp"
#include "base/unique_fd.hpp"
#include "symbols/boot_cache.hpp"

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

// All of a file, in memory of our own.
std::optional<Mapping> read_all(int fd, size_t size) {
    void* into = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (into == MAP_FAILED) return std::nullopt;
    Mapping bytes = Mapping::adopt(into, size);
    if (!read_at(fd, 0, {bytes.data(), size})) return std::nullopt;
    return bytes;
}

}  // namespace

// The kernel hands its BTF out a page at a time: the first to ask leaves a copy.
Result<BtfFile> BtfFile::open(const std::string& path, const BtfFile* base) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat st {};
    if (!fd || ::fstat(fd.get(), &st) < 0) return Error{Errc::system, fmt::format("{}: {}", path, strerror(errno))};
    const auto size = static_cast<size_t>(st.st_size);
    const Error not_btf{Errc::system, path + ": no BTF that is understood"};
    if (size < sizeof(btf_header)) return not_btf;
    std::optional<Mapping> bytes;
    if (path == kernel_types) {
        bytes = cached(cache_name);
        if (!bytes || bytes->size() != size) bytes = copy_to_cache(cache_name, fd.get(), size);
    }
    BtfFile file;
    file.is_copy_ = bytes.has_value();
    if (!bytes) bytes = read_all(fd.get(), size);
    if (!bytes) return Error{Errc::system, fmt::format("{}: {}", path, strerror(errno))};
    file.bytes_ = std::move(*bytes);
    if (!file.look_at_header(base) || !file.look_at_types()) return not_btf;
    return file;
}

bool BtfFile::look_at_header(const BtfFile* base) {
    btf_header header{};
    memcpy(&header, bytes_.data(), sizeof header);
    if (header.magic != BTF_MAGIC || header.version != BTF_VERSION || header.hdr_len < sizeof header) return false;
    if (header.hdr_len > bytes_.size() || header.hdr_len % 4 || header.type_off % 4) return false;
    const size_t room = bytes_.size() - header.hdr_len;
    const auto fits = [room](uint32_t at, uint32_t size) { return at <= room && size <= room - at; };
    if (!fits(header.type_off, header.type_len) || !fits(header.str_off, header.str_len)) return false;
    types_ = bytes_.data() + header.hdr_len + header.type_off;
    types_end_ = types_ + header.type_len;
    strings_ = reinterpret_cast<const char*>(bytes_.data()) + header.hdr_len + header.str_off;
    strings_size_ = header.str_len;
    if (base) {
        base_ = base;
        first_id_ = base->end_id_;
        strings_before_ = base->strings_before_ + base->strings_size_;
    }
    if (!strings_size_) return base != nullptr;
    return !strings_[strings_size_ - 1] && (base || !strings_[0]);
}

bool BtfFile::look_at_types() {
    end_id_ = first_id_;
    const uint8_t *at = types_, *kept = at;
    for (; at != types_end_; end_id_++) {
        const auto left = static_cast<size_t>(types_end_ - at);
        const auto* type = reinterpret_cast<const btf_type*>(at);
        if (left < sizeof *type || !btf_behind[btf_kind(type)].known || size_of(*type) > left) return false;
        if ((end_id_ - first_id_) % types_a_place == 0) places_.push_back(static_cast<uint32_t>(at - types_));
        at += size_of(*type);
        if (at - kept >= pass_size) drop(std::exchange(kept, at), at);
    }
    drop(kept, at);
    return true;
}

// What was passed over only: the file brings it back where it is wanted.
void BtfFile::drop(const uint8_t* from, const uint8_t* to) const {
    constexpr uintptr_t page = 4096;
    if (!is_copy_) return;
    const uintptr_t first = reinterpret_cast<uintptr_t>(from) & ~(page - 1);
    const uintptr_t end = reinterpret_cast<uintptr_t>(to) & ~(page - 1);
    if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

const btf_type* BtfFile::type(uint32_t id) const {
    static constexpr btf_type nothing{};
    if (id == 0) return &nothing;
    if (id < first_id_) return base_->type(id);
    if (id >= end_id_) return nullptr;
    const uint32_t own = id - first_id_;
    const uint8_t* at = types_ + places_[own / types_a_place];
    for (uint32_t i = 0; i < own % types_a_place; i++) at += size_of(*reinterpret_cast<const btf_type*>(at));
    return reinterpret_cast<const btf_type*>(at);
}

std::string_view BtfFile::name(uint32_t offset) const {
    if (offset < strings_before_) return base_->name(offset);
    if (offset - strings_before_ >= strings_size_) return "";
    return strings_ + (offset - strings_before_);
}

// Where the name stands among the file's strings; each stands there once. 0: nowhere.
uint32_t BtfFile::string_offset(std::string_view wanted) const {
    const std::string between = '\0' + std::string(wanted) + '\0';
    const char* const end = strings_ + strings_size_;
    for (const char* from = strings_; from < end; from += pass_size) {
        const auto left = static_cast<size_t>(end - from);
        const size_t size = std::min(left, static_cast<size_t>(pass_size) + between.size() - 1);
        const void* at = memmem(from, size, between.data(), between.size());
        drop(reinterpret_cast<const uint8_t*>(from), reinterpret_cast<const uint8_t*>(from + size));
        if (at) return static_cast<uint32_t>(static_cast<const char*>(at) + 1 - strings_);
    }
    return 0;
}

std::vector<uint32_t> BtfFile::find_in_order(std::string_view wanted, uint32_t kinds) const {
    std::vector<uint32_t> found;
    const uint32_t name_off = string_offset(wanted);
    if (name_off)
        each_type([&](uint32_t id, const btf_type* t) {
            if (t->name_off == name_off && (kind_bit(btf_kind(t)) & kinds)) found.push_back(id);
        });
    return found;
}

std::vector<uint32_t> BtfFile::find(std::string_view wanted, uint32_t kinds) const {
    // A module's types may be named in vmlinux's strings.
    if (!base_ && !index_.built()) {
        for (const Search& search : searches_)
            if (search.wanted == wanted && search.kinds == kinds) return search.found;
        if (searches_.size() < searches_before_index) {
            searches_.push_back({std::string(wanted), kinds, find_in_order(wanted, kinds)});
            return searches_.back().found;
        }
    }
    if (!index_.built())
        index_.build(end_id_ - first_id_, [&](const auto& add) {
            each_type([&](uint32_t id, const btf_type* t) {
                if (t->name_off && (kind_bit(btf_kind(t)) & indexed_kinds)) add(id - first_id_, name(t->name_off));
            });
        });
    if (++searched_ % searches_before_drop == 0) drop(bytes_.data(), bytes_.data() + bytes_.size());
    std::vector<uint32_t> found;
    index_.each_candidate(wanted, [&](uint32_t i) {
        const btf_type* t = type(first_id_ + i);
        if ((kind_bit(btf_kind(t)) & kinds) && name(t->name_off) == wanted) found.push_back(first_id_ + i);
    });
    return found;
}

}  // namespace kpl
