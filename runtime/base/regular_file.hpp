// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "base/unique_fd.hpp"

namespace kpl {

// A regular file, for reading. Whatever else is there is looked at and not opened: others may have put it there, and
// opening a device does something. `flags`: O_NOFOLLOW, or nothing. No descriptor: errno, EINVAL for what is no file.
UniqueFd open_regular(const std::string& path, int flags = 0);

}  // namespace kpl
