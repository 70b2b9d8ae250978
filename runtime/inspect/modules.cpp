// SPDX-License-Identifier: MIT
#include "inspect/modules.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace kpl {
namespace {

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace

// What is built in has a directory too, if it has parameters, but no state.
bool is_loaded(const std::string& module, const std::string& root) {
    return exists(root + "/sys/module/" + module + "/initstate");
}

// The list has a line for each, as "kernel/fs/ext4/ext4.ko", with dashes where files have them.
bool is_built_in(const std::string& module, const std::string& root) {
    if (exists(root + "/sys/module/" + module)) return !is_loaded(module, root);
    utsname name{};
    ::uname(&name);
    std::ifstream list(root + "/lib/modules/" + name.release + "/modules.builtin");
    for (std::string line; std::getline(list, line);) {
        line.erase(0, line.rfind('/') + 1);
        std::replace(line.begin(), line.end(), '-', '_');
        if (line == module + ".ko") return true;
    }
    return false;
}

}  // namespace kpl
