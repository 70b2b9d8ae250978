// SPDX-License-Identifier: MIT
// Which names did the user mean? The ones with the least edits between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kpl {

// Collects candidates and keeps the best. A candidate is near when a few characters of it have to be
// inserted, deleted, replaced or swapped with their neighbour: one in a name of two letters, at most three in
// any.
class Nearest {
  public:
    explicit Nearest(std::string wanted, size_t keep = 3);

    void offer(std::string_view candidate);
    // Best first; equal ones in the order offered. No name twice, never the wanted name itself.
    std::vector<std::string> names() const;

  private:
    bool hopeless(std::string_view candidate) const;
    size_t distance(std::string_view candidate);

    std::string wanted_;
    size_t keep_;
    size_t limit_;  // edits that the next candidate may need at most
    std::vector<std::pair<size_t, std::string>> best_;
    uint64_t letters_;  // which bytes, modulo 64, the wanted name has
    std::vector<size_t> rows_[3];
};

// " (did you mean a, b or c?)", or nothing when there are no names.
std::string did_you_mean(const std::vector<std::string>& names);

}  // namespace kpl
