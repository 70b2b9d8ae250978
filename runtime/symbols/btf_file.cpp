// SPDX-License-Identifier: MIT
#include "symbols/btf_file.hpp"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>

#include "symbols/boot_cache.hpp"

namespace kpl {
namespace {

// Kinds that are asked for by name.
constexpr uint32_t indexed_kinds = kind_bit(BTF_KIND_INT) | kind_bit(BTF_KIND_STRUCT) | kind_bit(BTF_KIND_UNION) |
                                   kind_bit(BTF_KIND_ENUM) | kind_bit(BTF_KIND_FWD) | kind_bit(BTF_KIND_TYPEDEF) |
                                   kind_bit(BTF_KIND_FUNC) | kind_bit(BTF_KIND_FLOAT) | kind_bit(BTF_KIND_ENUM64);

// An index costs what three searches do.
constexpr size_t searches_before_index = 3;

constexpr const char* kernel_types = "/sys/kernel/btf/vmlinux";
constexpr const char* cache_name = "vmlinux.btf";

// libbpf prints its troubles on stderr unless told otherwise; ours become Errors. Its printer is the whole process's:
// one thread at a time borrows it.
class QuietLibbpf {
  public:
    QuietLibbpf() : lock_(mutex()), before_(libbpf_set_print(nullptr)) {}
    ~QuietLibbpf() { libbpf_set_print(before_); }
    QuietLibbpf(const QuietLibbpf&) = delete;
    QuietLibbpf& operator=(const QuietLibbpf&) = delete;

  private:
    static std::mutex& mutex() {
        static std::mutex of_all;
        return of_all;
    }
    std::lock_guard<std::mutex> lock_;
    libbpf_print_fn_t before_;
};

}  // namespace

void BtfFile::Free::operator()(btf* b) const { btf__free(b); }
BtfFile::BtfFile(BtfFile&&) noexcept = default;
BtfFile& BtfFile::operator=(BtfFile&&) noexcept = default;
BtfFile::~BtfFile() = default;

BtfFile::BtfFile(btf* b, const BtfFile* base)
    : btf_(b), first_id_(base ? base->end_id_ : 1), end_id_(btf__type_cnt(b)) {}

// The kernel hands its BTF out a page at a time.
btf* BtfFile::parse_cached(const std::string& path) {
    std::error_code none;
    const auto size = std::filesystem::file_size(path, none);
    const auto copy = none ? std::nullopt : cached(cache_name);
    if (!copy || copy->size() != size) return nullptr;
    return btf__new(copy->data(), static_cast<uint32_t>(copy->size()));
}

Result<BtfFile> BtfFile::open(const std::string& path, const BtfFile* base) {
    QuietLibbpf quiet;
    btf* b = path == kernel_types ? parse_cached(path) : nullptr;
    const bool keep = path == kernel_types && !b;
    if (!b) b = base ? btf__parse_split(path.c_str(), base->btf_.get()) : btf__parse(path.c_str(), nullptr);
    if (!b) {
        const int code = errno;
        const char* reason = code < 4000 ? strerror(code) : "no BTF that libbpf understands";  // 4000…: libbpf's own
        return Error{Errc::system, fmt::format("{}: {}", path, reason)};
    }
    BtfFile file(b, base);
    file.keep_ = keep;
    return file;
}

void BtfFile::keep() {
    uint32_t size = 0;
    if (!std::exchange(keep_, false)) return;
    if (const void* bytes = btf__raw_data(btf_.get(), &size))
        keep_cached(cache_name, {static_cast<const uint8_t*>(bytes), size});
}

const btf_type* BtfFile::type(uint32_t id) const { return btf__type_by_id(btf_.get(), id); }

std::string_view BtfFile::name(uint32_t offset) const {
    const char* text = btf__str_by_offset(btf_.get(), offset);
    return text ? text : "";
}

// Where the name stands among the file's strings; each stands there once. 0: nowhere.
uint32_t BtfFile::string_offset(std::string_view wanted) const {
    uint32_t size = 0;
    const auto* raw = static_cast<const char*>(btf__raw_data(btf_.get(), &size));
    const auto* header = reinterpret_cast<const btf_header*>(raw);
    const char* strings = raw + header->hdr_len + header->str_off;
    const std::string between = '\0' + std::string(wanted) + '\0';
    const void* at = memmem(strings, header->str_len, between.data(), between.size());
    return at ? static_cast<uint32_t>(static_cast<const char*>(at) + 1 - strings) : 0;
}

std::vector<uint32_t> BtfFile::find_in_order(std::string_view wanted, uint32_t kinds) const {
    std::vector<uint32_t> found;
    const uint32_t name_off = string_offset(wanted);
    for (uint32_t id = first_id_; name_off && id < end_id_; id++) {
        const btf_type* t = type(id);
        if (t->name_off == name_off && (kind_bit(btf_kind(t)) & kinds)) found.push_back(id);
    }
    return found;
}

std::vector<uint32_t> BtfFile::find(std::string_view wanted, uint32_t kinds) const {
    // A module's types may be named in vmlinux's strings.
    if (first_id_ == 1 && !index_.built()) {
        for (const Search& search : searches_)
            if (search.wanted == wanted && search.kinds == kinds) return search.found;
        if (searches_.size() < searches_before_index) {
            searches_.push_back({std::string(wanted), kinds, find_in_order(wanted, kinds)});
            return searches_.back().found;
        }
    }
    if (!index_.built())
        index_.build(end_id_ - first_id_, [&](uint32_t i) {
            const btf_type* t = type(first_id_ + i);
            const bool named = t->name_off && (kind_bit(btf_kind(t)) & indexed_kinds);
            return named ? name(t->name_off) : std::string_view();
        });
    std::vector<uint32_t> found;
    index_.each_candidate(wanted, [&](uint32_t i) {
        const btf_type* t = type(first_id_ + i);
        if ((kind_bit(btf_kind(t)) & kinds) && name(t->name_off) == wanted) found.push_back(first_id_ + i);
    });
    return found;
}

}  // namespace kpl
