// SPDX-License-Identifier: MIT
#include "symbols/boot_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <vector>

#include "base/read_at.hpp"
#include "base/unique_fd.hpp"

namespace kpl {
namespace {

constexpr size_t copied_at_once = 64 << 10;

bool is_ours_alone(const std::string& dir) {
    struct stat st {};
    return ::lstat(dir.c_str(), &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == ::geteuid() && (st.st_mode & 077) == 0;
}

std::string base_directory() {
    if (const char* given = std::getenv("KPROBE_LUA_CACHE")) return std::string(given) == "off" ? "" : given;
    if (::geteuid() == 0) return "/run/kprobe-lua";
    const char* own = std::getenv("XDG_RUNTIME_DIR");
    return own ? std::string(own) + "/kprobe-lua" : "";
}

// Empty: there is none. `make`: creates it if need be.
std::string directory(bool make) {
    const std::string base = base_directory();
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    if (base.empty() || boot.empty()) return "";
    const std::string dir = base + "/" + boot;
    if (make) {
        ::mkdir(base.c_str(), 0700);
        ::mkdir(dir.c_str(), 0700);
    }
    return is_ours_alone(base) && is_ours_alone(dir) ? dir : "";
}

bool write_all(int fd, std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n <= 0) return false;
        bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return true;
}

// Complete or not at all, whoever else does the same at the same time: it has no name before it is whole, so that
// nothing stays of a process that is killed here.
bool replace(const std::string& name, const std::function<bool(int)>& fill) {
    const std::string dir = directory(true);
    if (dir.empty()) return false;
    const UniqueFd fd(::open(dir.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (!fd || !fill(fd.get())) return false;
    const std::string unnamed = "/proc/self/fd/" + std::to_string(fd.get());
    const std::string path = dir + "/" + name;
    ::unlink(path.c_str());
    return ::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0 || errno == EEXIST;
}

}  // namespace

std::optional<Mapping> cached(const std::string& name) {
    const std::string dir = directory(false);
    if (dir.empty()) return std::nullopt;
    const UniqueFd fd(::open((dir + "/" + name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    struct stat st {};
    if (!fd || ::fstat(fd.get(), &st) < 0 || st.st_size == 0) return std::nullopt;
    auto mapping = Mapping::create(fd.get(), 0, static_cast<size_t>(st.st_size), PROT_READ);
    if (!mapping) return std::nullopt;
    return std::move(mapping).value();
}

void keep_cached(const std::string& name, std::span<const uint8_t> bytes) {
    replace(name, [bytes](int to) { return write_all(to, bytes); });
}

std::optional<Mapping> copy_to_cache(const std::string& name, int fd, size_t size) {
    const bool done = replace(name, [&](int to) {
        std::vector<uint8_t> piece(std::min(size, copied_at_once));
        for (size_t at = 0; at < size; at += piece.size()) {
            const auto part = std::span(piece).first(std::min(piece.size(), size - at));
            if (!read_at(fd, at, part) || !write_all(to, part)) return false;
        }
        return true;
    });
    return done ? cached(name) : std::nullopt;
}

}  // namespace kpl
