// SPDX-License-Identifier: MIT
// The account that a run ends with, in lines.
#pragma once

#include <string>
#include <vector>

#include "session/account.hpp"

namespace kpl {

struct AccountText {
    std::vector<std::string> lines;
    bool lost = false;  // a hit or a record did not get where it should
};

// Of every probe, ring and map or, without `all`, only of those where something but `handled` is non-zero. `left_by`:
// what kept records that had come from being delivered; null: not worth a line.
AccountText account_text(const Account& account, bool all, const char* left_by);

}  // namespace kpl
