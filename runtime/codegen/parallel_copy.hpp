// SPDX-License-Identifier: MIT
// Copies that are to happen at once, as a sequence.
#pragma once

#include <algorithm>
#include <vector>

#include "codegen/mir.hpp"

namespace kpl {

struct Copy {
    mir::Reg dst, src;
};

// Every dst occurs once. `new_register` gives one for the value that a cycle has to put aside.
template <class F>
std::vector<Copy> sequential(std::vector<Copy> copies, F new_register) {
    std::vector<Copy> result;
    std::erase_if(copies, [](const Copy& copy) { return copy.dst == copy.src; });
    while (!copies.empty()) {
        auto read_later = [&](mir::Reg reg) {
            return std::any_of(copies.begin(), copies.end(), [&](const Copy& copy) { return copy.src == reg; });
        };
        auto free = std::find_if(copies.begin(), copies.end(), [&](const Copy& copy) { return !read_later(copy.dst); });
        if (free != copies.end()) {
            result.push_back(*free);
            copies.erase(free);
            continue;
        }
        // Only cycles are left: the first dst's old value is read from elsewhere.
        mir::Reg aside = new_register(), old = copies.front().dst;
        result.push_back({aside, old});
        for (Copy& copy : copies)
            if (copy.src == old) copy.src = aside;
    }
    return result;
}

}  // namespace kpl
