// SPDX-License-Identifier: MIT
#include "output/cgroups.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/printable.hpp"

namespace kpl {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_paths = 1 << 16;

// Empty: it is mounted nowhere.
std::string mount_point() {
    std::ifstream mounts("/proc/self/mounts");
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words(line);
        std::string device, where, type;
        if (words >> device >> where >> type && type == "cgroup2") return where;
    }
    return {};
}

// A group's number is that of its directory.
Result<uint64_t> number_of(const std::string& directory) {
    struct stat s {};
    if (stat(directory.c_str(), &s) != 0 || !S_ISDIR(s.st_mode))
        return Error{Errc::script, fmt::format("there is no cgroup {}", directory)};
    return uint64_t{s.st_ino};
}

}  // namespace

// One that vanishes meanwhile ends the walk through its parent alone.
void Cgroups::add_below(const std::string& top, const std::string& group) {
    std::error_code none;
    for (fs::directory_iterator at(top + group, none), end; at != end; at.increment(none)) {
        if (!at->is_directory(none) || at->is_symlink(none)) continue;
        const std::string path = group + "/" + at->path().filename().string();
        if (const auto number = number_of(top + path)) paths_[*number] = printable(path);
        add_below(top, path);
    }
}

std::string Cgroups::path(uint64_t id) {
    if (const auto at = paths_.find(id); at != paths_.end()) return at->second;
    // Groups come and go; one that is not there is not looked for again at once.
    const int64_t now = ::time(nullptr);
    const std::string top = std::exchange(read_at_, now) == now ? std::string() : mount_point();
    if (!top.empty()) {
        if (paths_.size() > most_paths) paths_.clear();  // those that are gone had their names, too
        if (const auto number = number_of(top)) paths_[*number] = "/";
        add_below(top, "");
    }
    const auto at = paths_.find(id);
    return at != paths_.end() ? at->second : std::to_string(id);
}

Result<uint64_t> Cgroups::id_of(const std::string& path) {
    const std::string top = mount_point();
    if (top.empty()) return Error{Errc::script, "cgroup2 is mounted nowhere: give the cgroup's number"};
    if (path.starts_with(top + "/") || path == top) return number_of(path);
    return number_of(top + (path.starts_with('/') ? "" : "/") + path);
}

}  // namespace kpl
