// SPDX-License-Identifier: MIT
#pragma once

#include "arch/arch.hpp"
#include "arch/points.hpp"

namespace kpl {

extern const Arch x86_64;
extern const Arch arm64;

std::vector<ProbePoint> x86_points(const FunctionFacts& facts);
std::vector<ProbePoint> arm64_points(const FunctionFacts& facts);

}  // namespace kpl
