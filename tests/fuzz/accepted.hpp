// SPDX-License-Identifier: MIT
// What the verifier accepted, as rows for the kernel's engines: `engine_rows --vm=KERNEL FILE` runs them there.
#pragma once

#include <fstream>
#include <set>
#include <string>

#include "rows/rows.hpp"

namespace kpl::fuzz {

class Accepted {
  public:
    // "": nothing is written.
    explicit Accepted(const std::string& file) {
        if (!file.empty()) out_.open(file);
    }
    // Of an accepted program what it does in this process; not one that was there already, nor one that need not do
    // the same in the kernel: it has maps, looks at scratch memory or at its CPU, or calls more than plain functions.
    void add(const rows::Row& row);
    size_t size() const { return known_.size(); }

  private:
    static constexpr size_t most = 20'000;
    std::ofstream out_;
    std::set<std::string> known_;
};

}  // namespace kpl::fuzz
