// SPDX-License-Identifier: MIT
// Where registers hold what is read later.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "codegen/mir.hpp"

namespace kpl {

// Positions count instructions in program order, twice: 2i is where instruction i reads, 2i + 1 where it
// writes.
struct Span {
    uint32_t from, to;  // [from, to)
};

// Ascending, disjoint.
class LiveRange {
  public:
    bool empty() const { return spans_.empty(); }
    uint32_t start() const { return spans_.front().from; }
    uint32_t end() const { return spans_.back().to; }
    uint32_t length() const;
    bool overlaps(const LiveRange& other) const;
    void merge(const LiveRange& other);
    // For building from the end of the program to its start.
    void prepend(Span span);
    void reverse();

  private:
    std::vector<Span> spans_;
};

// Virtual registers and spill slots.
class RegSet {
  public:
    explicit RegSet(size_t count = 0) : words_((count + 63) / 64) {}
    bool operator[](size_t i) const { return words_[i / 64] >> i % 64 & 1; }
    void insert(size_t i) { words_[i / 64] |= uint64_t{1} << i % 64; }
    void erase(size_t i) { words_[i / 64] &= ~(uint64_t{1} << i % 64); }
    void insert(const RegSet& other) {
        for (size_t w = 0; w < words_.size(); w++) words_[w] |= other.words_[w];
    }
    template <class F>
    void for_each(F f) const {
        for (size_t w = 0; w < words_.size(); w++)
            for (uint64_t rest = words_[w]; rest; rest &= rest - 1)
                f(w * 64 + static_cast<size_t>(std::countr_zero(rest)));
    }
    bool operator==(const RegSet&) const = default;

  private:
    std::vector<uint64_t> words_;
};

struct Liveness {
    std::vector<LiveRange> ranges;     // by virtual register, then by spill slot
    LiveRange calls;                   // where r0 to r5 are lost
    std::array<LiveRange, 6> machine;  // r0 to r5: moved in and out around calls, lost in them
    std::vector<RegSet> live_in;       // by block, then as ranges
    std::vector<uint32_t> weight;      // by virtual register: what its being spilled costs
};

Liveness find_liveness(const mir::Function& function);

// How often a block runs, compared to a straight way through the handler.
uint32_t frequency(const mir::Block& block);

}  // namespace kpl
