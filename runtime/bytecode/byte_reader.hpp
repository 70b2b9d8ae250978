// SPDX-License-Identifier: MIT
// The one way to take bytes out of a dump: no read goes past the end, and a failed read sticks.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace kpl {

// After a read that does not fit, ok() is false and every read yields zeros or nothing: callers test once for
// each step instead of for each byte, and loops are bounded by remaining().
class ByteReader {
  public:
    explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

    bool ok() const { return ok_; }
    bool at_end() const { return pos_ == bytes_.size(); }
    size_t remaining() const { return bytes_.size() - pos_; }
    size_t position() const { return pos_; }

    std::span<const uint8_t> take(size_t n) {
        if (n > remaining()) {
            fail();
            return {};
        }
        auto part = bytes_.subspan(pos_, n);
        pos_ += n;
        return part;
    }

    uint8_t u8() { return static_cast<uint8_t>(little_endian(1)); }
    uint16_t u16() { return static_cast<uint16_t>(little_endian(2)); }
    uint32_t u32() { return static_cast<uint32_t>(little_endian(4)); }

    // ULEB128 of at most `bits` significant bits, in no more bytes than these need.
    uint64_t uleb128(unsigned bits) {
        uint64_t value = 0;
        for (unsigned shift = 0; shift < bits; shift += 7) {
            uint64_t byte = u8();
            value |= (byte & 0x7f) << shift;
            if (byte < 0x80) {
                if (value >> bits != 0) fail();
                return ok_ ? value : 0;
            }
        }
        fail();
        return 0;
    }
    uint32_t uleb32() { return static_cast<uint32_t>(uleb128(32)); }
    // How many elements follow, of at least `min_bytes` each: more than the rest can hold fails here, before
    // anything is allocated for them.
    uint32_t count(size_t min_bytes = 1) {
        uint32_t n = uleb32();
        if (n > remaining() / min_bytes) fail();
        return ok_ ? n : 0;
    }

    std::string string(size_t n) {
        auto part = take(n);
        return {part.begin(), part.end()};
    }
    // Up to a NUL, which is consumed and not part of the string.
    std::string c_string() {
        std::string text;
        while (uint8_t byte = u8()) text.push_back(static_cast<char>(byte));
        return text;
    }

  private:
    uint64_t little_endian(size_t n) {
        uint64_t value = 0;
        size_t i = 0;
        for (uint8_t byte : take(n)) value |= static_cast<uint64_t>(byte) << (8 * i++);
        return value;
    }
    void fail() {
        ok_ = false;
        pos_ = bytes_.size();
    }

    std::span<const uint8_t> bytes_;
    size_t pos_ = 0;
    bool ok_ = true;
};

}  // namespace kpl
