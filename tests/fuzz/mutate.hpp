// SPDX-License-Identifier: MIT
// Mutator: programs that are nearly right, made from those of the tests' rows.
#pragma once

#include <random>
#include <vector>

#include "rows/rows.hpp"

namespace kpl::fuzz {

class Mutator {
  public:
    // `corpus`: accepted programs; not empty, and outlives the mutator.
    Mutator(const std::vector<rows::Row>& corpus, uint64_t seed) : corpus_(corpus), random_(seed) {}

    // A program of the corpus with a few changes; its options (kind, sizes, maps) come with it.
    rows::Row next();
    void change(rows::Row& row);  // once

  private:
    size_t below(size_t n) { return n ? random_() % n : 0; }
    bool one_in(size_t n) { return below(n) == 0; }
    const rows::Row& any_row() { return corpus_[below(corpus_.size())]; }

    void change_field(bpf_insn& insn);
    void change_label(rows::Row& row);
    void insert(rows::Row& row, size_t at, const std::vector<bpf_insn>& insns);
    void erase(rows::Row& row, size_t at, size_t n);
    int32_t number();

    const std::vector<rows::Row>& corpus_;
    std::mt19937_64 random_;
};

}  // namespace kpl::fuzz
