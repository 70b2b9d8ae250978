// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "arch/arch.hpp"
#include "arch/mark_args.hpp"
#include "arch/points.hpp"

namespace kpl {

extern const Arch x86_64;
extern const Arch arm64;

std::vector<ProbePoint> x86_points(const FunctionFacts& facts);
std::vector<ProbePoint> arm64_points(const FunctionFacts& facts);

bool x86_mark_operand(std::string_view text, MarkArg& arg);
bool arm64_mark_operand(std::string_view text, MarkArg& arg);

}  // namespace kpl
