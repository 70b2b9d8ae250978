// SPDX-License-Identifier: MIT
// The running kernel's memory, read only, through /proc/kcore.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace kpl {

class KernelMemory {
  public:
    // The error says what forbids it, and what to do.
    static Result<KernelMemory> open(const std::string& path = "/proc/kcore");

    // False: some of it is not mapped, or not a part of any segment. Nothing is known of `into` then.
    bool read(uint64_t addr, std::span<uint8_t> into) const;
    template <class T>
    std::optional<T> get(uint64_t addr) const {
        static_assert(std::is_trivially_copyable_v<T>);
        uint8_t bytes[sizeof(T)];
        if (!read(addr, bytes)) return std::nullopt;
        T value;
        std::memcpy(&value, bytes, sizeof(T));
        return value;
    }

    // The text that the kernel leaves for readers of its memory: "SYMBOL(_stext)=ffffffff81000000" and more, a line
    // each. Empty where it leaves none.
    const std::string& vmcoreinfo() const { return vmcoreinfo_; }

  private:
    struct Segment {
        uint64_t addr, size, offset;
    };
    KernelMemory() = default;
    void read_notes(uint64_t offset, uint64_t size);

    UniqueFd fd_;
    std::vector<Segment> segments_;
    std::string vmcoreinfo_;
};

}  // namespace kpl
