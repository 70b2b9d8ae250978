// SPDX-License-Identifier: MIT
#include "symbols/file_bytes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/read_at.hpp"
#include "symbols/boot_cache.hpp"

namespace kpl {
namespace {

constexpr size_t page_bytes = 4096;

std::optional<Mapping> own_memory(size_t size) {
    void* into = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (into == MAP_FAILED) return std::nullopt;
    return Mapping::adopt(into, size);
}

std::optional<Mapping> read_all(int fd, size_t size) {
    auto bytes = own_memory(size);
    if (bytes && !read_at(fd, 0, {bytes->data(), size})) return std::nullopt;
    return bytes;
}

}  // namespace

Result<FileBytes> FileBytes::open(const std::string& path, std::string copy) {
    FileBytes file;
    file.copy_ = std::move(copy);
    file.fd_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat st {};
    const auto error = [&path] { return Error{Errc::system, fmt::format("{}: {}", path, strerror(errno))}; };
    if (!file.fd_ || ::fstat(file.fd_.get(), &st) < 0) return error();
    file.size_ = static_cast<size_t>(st.st_size);
    if (file.size_ == 0) return file;
    if (file.copy_.empty()) {
        file.make_whole();
        if (!file.whole_.data()) return error();
        return file;
    }
    auto kept = cached(file.copy_);
    if (kept && kept->size() == file.size_) {
        file.whole_ = std::move(*kept);
        file.is_copy_ = true;
        file.fd_.reset();
        return file;
    }
    auto pages = own_memory(file.size_);
    if (!pages) return error();
    file.pages_ = std::move(*pages);
    ::madvise(file.pages_.data(), file.size_, MADV_NOHUGEPAGE);  // a few pages of many are wanted
    file.is_here_.resize(file.size_ / page_bytes + 1);
    return file;
}

void FileBytes::make_whole() {
    if (whole_.data()) return;
    auto bytes = copy_.empty() ? std::nullopt : copy_to_cache(copy_, fd_.get(), size_);
    is_copy_ = bytes.has_value();
    if (!bytes) bytes = read_all(fd_.get(), size_);
    if (!bytes) return;  // by the page, then
    whole_ = std::move(*bytes);
    fd_.reset();
}

void FileBytes::keep() {
    if (fd_ && !copy_.empty()) (void)copy_to_cache(copy_, fd_.get(), size_);
}

const uint8_t* FileBytes::at_pages(size_t offset, size_t size) {
    for (size_t page = offset / page_bytes; page * page_bytes < offset + size; page++) {
        if (is_here_[page]) continue;
        const size_t from = page * page_bytes;
        if (!read_at(fd_.get(), from, {pages_.data() + from, std::min(page_bytes, size_ - from)})) return nullptr;
        is_here_[page] = true;
    }
    return pages_.data() + offset;
}

const char* FileBytes::text_in_pages(size_t offset) {
    for (size_t end = offset; end < size_;) {
        const size_t begin = end;
        end = std::min(size_, (begin / page_bytes + 1) * page_bytes);
        const uint8_t* part = at_pages(begin, end - begin);
        if (!part) return "";
        if (memchr(part, 0, end - begin)) return reinterpret_cast<const char*>(pages_.data()) + offset;
    }
    return "";
}

void FileBytes::drop(size_t offset, size_t size) const {
    if (!is_copy_) return;
    const uintptr_t first = reinterpret_cast<uintptr_t>(whole_.data() + offset) & ~(page_bytes - 1);
    const uintptr_t end = reinterpret_cast<uintptr_t>(whole_.data() + offset + size) & ~(page_bytes - 1);
    if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

const uint8_t* FileBytes::Pass::piece(size_t offset, size_t size) {
    if (file_.whole_.data()) return file_.whole_.data() + offset;
    if (size > capacity_) {
        buffer_ = std::make_unique_for_overwrite<uint8_t[]>(size);
        capacity_ = size;
    }
    return read_at(file_.fd_.get(), offset, {buffer_.get(), size}) ? buffer_.get() : nullptr;
}

}  // namespace kpl
