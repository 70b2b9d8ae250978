// SPDX-License-Identifier: MIT
#include "symbols/btf_file.hpp"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace kpl {
namespace {

// Kinds that are asked for by name.
constexpr uint32_t indexed_kinds =
    kind_bit(BTF_KIND_INT) | kind_bit(BTF_KIND_STRUCT) | kind_bit(BTF_KIND_UNION) | kind_bit(BTF_KIND_ENUM) |
    kind_bit(BTF_KIND_FWD) | kind_bit(BTF_KIND_TYPEDEF) | kind_bit(BTF_KIND_FUNC) | kind_bit(BTF_KIND_FLOAT) |
    kind_bit(BTF_KIND_ENUM64);

// libbpf prints its troubles on stderr unless told otherwise; ours become Errors.
class QuietLibbpf {
  public:
    QuietLibbpf() : before_(libbpf_set_print(nullptr)) {}
    ~QuietLibbpf() { libbpf_set_print(before_); }
    QuietLibbpf(const QuietLibbpf&) = delete;
    QuietLibbpf& operator=(const QuietLibbpf&) = delete;

  private:
    libbpf_print_fn_t before_;
};

}  // namespace

void BtfFile::Free::operator()(btf* b) const {
    btf__free(b);
}
BtfFile::BtfFile(BtfFile&&) noexcept = default;
BtfFile& BtfFile::operator=(BtfFile&&) noexcept = default;
BtfFile::~BtfFile() = default;

BtfFile::BtfFile(btf* b, const BtfFile* base)
    : btf_(b), first_id_(base ? base->end_id_ : 1), end_id_(btf__type_cnt(b)) {}

Result<BtfFile> BtfFile::open(const std::string& path, const BtfFile* base) {
    QuietLibbpf quiet;
    btf* b = base ? btf__parse_split(path.c_str(), base->btf_.get()) : btf__parse(path.c_str(), nullptr);
    if (!b) {
        const int code = errno;
        const char* reason =
            code < 4000 ? strerror(code) : "no BTF that libbpf understands";  // 4000…: libbpf's own
        return Error{Errc::system, fmt::format("{}: {}", path, reason)};
    }
    return BtfFile(b, base);
}

const btf_type* BtfFile::type(uint32_t id) const {
    return btf__type_by_id(btf_.get(), id);
}

std::string_view BtfFile::name(uint32_t offset) const {
    const char* text = btf__str_by_offset(btf_.get(), offset);
    return text ? text : "";
}

std::vector<uint32_t> BtfFile::find(std::string_view wanted, uint32_t kinds) const {
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
