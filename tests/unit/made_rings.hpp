// SPDX-License-Identifier: MIT
// MadeRings: rings in this process's memory, laid out and written as the module does it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "device/rings.hpp"
#include "ir/unit.hpp"

namespace kpl::test {

// A record's fixed part and tail, written field by field.
class MadeRecord {
  public:
    explicit MadeRecord(const Layout& layout) : layout_(layout), bytes_(sizeof(kpl_rec) + layout.size) {}

    MadeRecord& number(size_t field, uint64_t word) {
        put(layout_.fields[field].offset, word);
        return present(field);
    }
    MadeRecord& string(size_t field, std::string_view text) {
        put(layout_.fields[field].offset,
            kpl_rec_str{static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(text.size())});
        bytes_.insert(bytes_.end(), text.begin(), text.end());
        bytes_.resize((bytes_.size() + 7) & ~size_t{7});
        return present(field);
    }
    MadeRecord& stack(size_t field, const std::vector<uint64_t>& addresses) {
        return string(field, {reinterpret_cast<const char*>(addresses.data()), addresses.size() * 8});
    }
    const std::vector<char>& bytes() const { return bytes_; }

  private:
    template <class T>
    void put(size_t offset, const T& value) {
        std::memcpy(bytes_.data() + sizeof(kpl_rec) + offset, &value, sizeof value);
    }
    MadeRecord& present(size_t field) {
        if (layout_.presence_offset < 0) return *this;
        present_ |= uint64_t{1} << field;
        put(static_cast<size_t>(layout_.presence_offset), present_);
        return *this;
    }

    const Layout& layout_;
    std::vector<char> bytes_;
    uint64_t present_ = 0;
};

// One CPU's ring as its producer sees it.
class MadeRing {
  public:
    explicit MadeRing(uint32_t size) : size_(size), page_(static_cast<size_t>(::sysconf(_SC_PAGESIZE))) {
        fd_ = ::memfd_create("ring", 0);
        control_fd_ = ::memfd_create("control", 0);
        if (::ftruncate(fd_, static_cast<off_t>(page_ + size)) || ::ftruncate(control_fd_, static_cast<off_t>(page_)))
            std::abort();
        base_ = static_cast<char*>(
            ::mmap(nullptr, page_ + 2 * size_t{size}, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        place(base_, 0, page_ + size);
        place(base_ + page_ + size, page_, size);
        head().size = size;
        control_ = ::mmap(nullptr, page_, PROT_READ | PROT_WRITE, MAP_SHARED, control_fd_, 0);
    }
    MadeRing(MadeRing&& other) noexcept = delete;
    ~MadeRing() {
        ::munmap(control_, page_);
        ::close(fd_);
        ::close(control_fd_);
    }

    // The consumer's mappings; they take this object's mapping of the data with them.
    Rings::Memory memory() {
        Rings::Memory memory;
        memory.control = Mapping::create(control_fd_, 0, page_, PROT_READ | PROT_WRITE).value();
        memory.data = Mapping::adopt(base_, page_ + 2 * size_t{size_});
        return memory;
    }

    kpl_ring_head& head() { return *reinterpret_cast<kpl_ring_head*>(base_); }
    const kpl_ring_ctl& control() const { return *static_cast<const kpl_ring_ctl*>(control_); }

    // False: no room, and counted.
    bool send(uint32_t event, uint64_t time, const std::vector<char>& bytes) {
        if (!begin(event, time, bytes)) return false;
        head().head = head().reserved_head;
        return true;
    }
    // A record that is still being written.
    bool begin(uint32_t event, uint64_t time, const std::vector<char>& bytes) {
        const uint64_t seq = head().sent++;
        if (head().head - control().tail + bytes.size() > size_) {
            head().lost++;
            return false;
        }
        char* at = base_ + page_ + (head().head & (size_ - 1));
        std::memcpy(at, bytes.data(), bytes.size());
        const kpl_rec header{static_cast<uint32_t>(bytes.size()), event, seq, time};
        std::memcpy(at, &header, sizeof header);
        head().reserved_head = head().head + bytes.size();
        return true;
    }

  private:
    void place(char* at, size_t offset, size_t size) {
        if (::mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_, static_cast<off_t>(offset)) ==
            MAP_FAILED)
            std::abort();
    }

    uint32_t size_;
    size_t page_;
    int fd_, control_fd_;
    char* base_;
    void* control_;
};

}  // namespace kpl::test
