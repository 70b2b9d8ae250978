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
    // An accepted program that was not there already: with what it does in this process, if it is to do that in the
    // kernel, too; else to be the same on both engines of a kernel. Not one whose two runs may differ by themselves: it
    // asks for the time, a stack, the task or a register of the process, or goes to another place.
    void add(const rows::Row& row);
    size_t size() const { return size_; }
    size_t different() const { return known_.size(); }

  private:
    static constexpr size_t most = 20'000;
    std::ofstream out_;
    size_t size_ = 0;
    std::set<std::string> known_;
};

}  // namespace kpl::fuzz
