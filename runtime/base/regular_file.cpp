// SPDX-License-Identifier: MIT
#include "base/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace kpl {

UniqueFd open_regular(const std::string& path, int flags) {
    const UniqueFd there(::open(path.c_str(), O_PATH | O_CLOEXEC | flags));
    struct stat file {};
    if (!there || ::fstat(there.get(), &file) != 0) return {};
    if (!S_ISREG(file.st_mode)) {
        errno = EINVAL;
        return {};
    }
    return UniqueFd(
        ::open(("/proc/self/fd/" + std::to_string(there.get())).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

}  // namespace kpl
