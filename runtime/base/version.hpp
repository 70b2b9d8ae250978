// SPDX-License-Identifier: MIT
// The version of what scripts and programs may ask of this: it grows with each addition.
#pragma once

namespace kpl {

inline constexpr unsigned api_version = 1;

}  // namespace kpl
