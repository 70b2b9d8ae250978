// SPDX-License-Identifier: MIT
// Mapping: the one owner of a memory mapping.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/result.hpp"

namespace kpl {

class Mapping {
  public:
    Mapping() = default;
    static Result<Mapping> create(int fd, uint64_t offset, size_t size, int protection) {
        void* p = ::mmap(nullptr, size, protection, MAP_SHARED, fd, static_cast<off_t>(offset));
        if (p == MAP_FAILED) return Error{Errc::system, std::string("mmap: ") + std::strerror(errno)};
        return Mapping(p, size);
    }
    // Takes over what is already mapped.
    static Mapping adopt(void* data, size_t size) { return Mapping(data, size); }
    Mapping(Mapping&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() {
        if (data_) ::munmap(data_, size_);
    }

    uint8_t* data() const { return static_cast<uint8_t*>(data_); }
    size_t size() const { return size_; }

  private:
    Mapping(void* data, size_t size) : data_(data), size_(size) {}
    void* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace kpl
