// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>

#include "base/unique_fd.hpp"

namespace kpl {

// A regular file, for reading. Whatever else is there is looked at and not opened: others may have put it there, and
// opening a device does something, as it does with some files that the kernel makes up (proc, sysfs, tracefs: those
// that have no blocks). `flags`: O_NOFOLLOW, or nothing. `wanted` is asked before the file is opened. No descriptor:
// errno, EINVAL for what is no file, or not wanted. Allocates nothing.
UniqueFd open_regular(const char* path, int flags = 0, const std::function<bool(const struct stat&)>& wanted = nullptr);
inline UniqueFd open_regular(const std::string& path, int flags = 0,
                             const std::function<bool(const struct stat&)>& wanted = nullptr) {
    return open_regular(path.c_str(), flags, wanted);
}

}  // namespace kpl
