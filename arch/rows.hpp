// SPDX-License-Identifier: MIT
#pragma once

#include "arch/arch.hpp"

namespace kpl {

extern const Arch x86_64;
extern const Arch arm64;

}  // namespace kpl
