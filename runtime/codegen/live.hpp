// SPDX-License-Identifier: MIT
// Where registers hold what is read later.
#pragma once

#include <array>
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

struct Liveness {
    std::vector<LiveRange> ranges;           // by virtual register, then by spill slot
    LiveRange calls;                         // where r0 to r5 are lost
    std::array<LiveRange, 6> machine;        // r0 to r5: moved in and out around calls, lost in them
    std::vector<std::vector<bool>> live_in;  // by block, then as ranges
    std::vector<uint32_t> weight;            // by virtual register: what its being spilled costs
};

Liveness find_liveness(const mir::Function& function);

// How often a block runs, compared to a straight way through the handler.
uint32_t frequency(const mir::Block& block);

}  // namespace kpl
