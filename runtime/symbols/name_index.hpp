// SPDX-License-Identifier: MIT
// Things by name, for tables too large for a map of strings: two numbers a thing, and no string is copied.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace kpl {

class NameIndex {
  public:
    bool built() const { return !buckets_.empty(); }

    // `each(add)` calls add(i, name) for those that have a name, in ascending order; i < count.
    template <class Each>
    void build(uint32_t count, Each each) {
        buckets_.assign(std::bit_ceil(count / 2 + 1), 0);
        next_.assign(count, 0);
        std::vector<uint32_t> last(buckets_.size());  // of each chain: they run in ascending order
        each([&](uint32_t i, std::string_view name) {
            const size_t bucket = hash(name) & (buckets_.size() - 1);
            (last[bucket] ? next_[last[bucket] - 1] : buckets_[bucket]) = i + 1;
            last[bucket] = i + 1;
        });
    }

    // Things whose name may be this one, ascending; the caller compares.
    template <class Visit>
    void each_candidate(std::string_view name, Visit visit) {
        for (uint32_t i = bucket(name); i; i = next_[i - 1]) visit(i - 1);
    }

  private:
    // Eight bytes a step: a hundred thousand names are hashed before the first probe is armed.
    static uint32_t hash(std::string_view text) {
        uint64_t state = text.size();
        auto mix = [&state](std::string_view part) {
            uint64_t word = 0;
            memcpy(&word, part.data(), part.size());
            state = (state ^ word) * 0x9e3779b97f4a7c15u;
            state ^= state >> 32;
        };
        for (; text.size() >= 8; text.remove_prefix(8)) mix(text.substr(0, 8));
        mix(text);
        return static_cast<uint32_t>(state);
    }
    uint32_t& bucket(std::string_view name) { return buckets_[hash(name) & (buckets_.size() - 1)]; }

    std::vector<uint32_t> buckets_;  // the first thing of each chain + 1; 0: none
    std::vector<uint32_t> next_;
};

}  // namespace kpl
