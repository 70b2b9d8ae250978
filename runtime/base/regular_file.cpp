// SPDX-License-Identifier: MIT
#include "base/regular_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>

namespace kpl {
namespace {

// Those in memory say that they have no blocks where they have no limit, as do servers that don't say.
bool keeps_files(int fd) {
    struct statfs of {};
    if (::fstatfs(fd, &of) != 0) return false;
    static constexpr long with_none[] = {TMPFS_MAGIC,           RAMFS_MAGIC,      HUGETLBFS_MAGIC,
                                         OVERLAYFS_SUPER_MAGIC, FUSE_SUPER_MAGIC, V9FS_MAGIC};
    return of.f_blocks || std::find(std::begin(with_none), std::end(with_none), of.f_type) != std::end(with_none);
}

}  // namespace

UniqueFd open_regular(const char* path, int flags, const std::function<bool(const struct stat&)>& wanted) {
    const UniqueFd there(::open(path, O_PATH | O_CLOEXEC | flags));
    struct stat file {};
    if (!there || ::fstat(there.get(), &file) != 0) return {};
    if (!S_ISREG(file.st_mode) || !keeps_files(there.get()) || (wanted && !wanted(file))) {
        errno = EINVAL;
        return {};
    }
    char again[32];
    std::snprintf(again, sizeof again, "/proc/self/fd/%d", there.get());
    return UniqueFd(::open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

}  // namespace kpl
