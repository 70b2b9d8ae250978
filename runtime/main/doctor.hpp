// SPDX-License-Identifier: MIT
// doctor and --info.
#pragma once

#include <string>
#include <vector>

#include "main/diagnosis.hpp"

namespace kpl {

// Prints what is well and what is not. 0 when nothing of this kernel is in the way of probing, else 1.
int doctor();

// --info: prints versions, ABI, features and settings, to be pasted into a bug report. Always 0.
int info();

// One line for each finding, and its remedy below it; of those with one remedy, below the last.
std::string print_findings(const std::vector<Finding>& findings);

}  // namespace kpl
