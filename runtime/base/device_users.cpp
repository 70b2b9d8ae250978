// SPDX-License-Identifier: MIT
#include "base/device_users.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

namespace kpl {
namespace {

namespace fs = std::filesystem;

// "pos:\t0\nflags:\t02100002\n…"
bool is_name_alone(const fs::path& info) {
    std::ifstream file(info);
    std::string word;
    unsigned flags = 0;
    while (file >> word && word != "flags:") continue;
    return !(file >> std::oct >> flags) || (flags & O_PATH);
}

// Without asking who serves the file, who may never answer.
bool is_device(const fs::path& open, dev_t number) {
    struct statx file {};
    return ::statx(AT_FDCWD, open.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE, &file) == 0 && S_ISCHR(file.stx_mode) &&
           makedev(file.stx_rdev_major, file.stx_rdev_minor) == number;
}

bool has_open(const fs::path& process, const std::string& device, dev_t number) {
    std::error_code none;
    for (const fs::directory_entry& open : fs::directory_iterator(process / "fd", none)) {
        if (fs::read_symlink(open.path(), none) == device && is_device(open.path(), number) &&
            !is_name_alone(process / "fdinfo" / open.path().filename()))
            return true;
    }
    return false;
}

}  // namespace

std::vector<int> device_users(const std::string& device) {
    std::vector<int> pids;
    struct stat there {};
    if (::stat(device.c_str(), &there) != 0) return pids;
    std::error_code none;
    for (const fs::directory_entry& process : fs::directory_iterator("/proc", none)) {
        const std::string name = process.path().filename();
        int pid = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
        if (has_open(process.path(), device, there.st_rdev)) pids.push_back(pid);
    }
    std::sort(pids.begin(), pids.end());
    return pids;
}

}  // namespace kpl
