// SPDX-License-Identifier: MIT
#include "programs/find_program.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string_view>

#include "symbols/nearest.hpp"

namespace kpl {
namespace {

namespace fs = std::filesystem;

constexpr const char* loader_list = "/etc/ld.so.conf";

void add_listed(const char* list, std::vector<std::string>& into) {
    const std::string text = list ? list : "";
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find(':', at), text.size());
        if (end > at) into.push_back(text.substr(at, end - at));
        at = end + 1;
    }
}

// Lines are directories, or "include PATTERN".
void add_loader_list(const std::string& path, std::vector<std::string>& into, int depth = 0) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        line.resize(std::min(line.find('#'), line.size()));
        line.erase(line.find_last_not_of(" \t") + 1);
        if (line.starts_with('/')) into.push_back(line);
        if (!line.starts_with("include ") || depth > 4) continue;
        glob_t found{};
        if (::glob(line.c_str() + 8, 0, nullptr, &found) == 0)
            for (size_t i = 0; i < found.gl_pathc; i++) add_loader_list(found.gl_pathv[i], into, depth + 1);
        ::globfree(&found);
    }
}

void each_file(const std::vector<std::string>& directories,
               const std::function<void(const fs::path&, const std::string& name)>& visit) {
    for (const std::string& directory : directories) {
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(directory, error))
            visit(entry.path(), entry.path().filename().string());
    }
}

// "libc" of "libc.so.6"; empty: no library's name.
std::string_view without_version(std::string_view file) {
    const size_t at = file.find(".so");
    return at == file.npos || at == 0 ? std::string_view() : file.substr(0, at);
}

// Beside this machine's libraries there may be another one's.
bool is_library(const fs::path& path, const ProgramPaths& paths) {
    std::ifstream file(path, std::ios::binary);
    Elf64_Ehdr head{};
    file.read(reinterpret_cast<char*>(&head), sizeof head);
    return std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && (!paths.machine || head.e_machine == paths.machine);
}

// Of several names of one file, such as libc.so.6 and libc-2.36.so, one is enough.
std::vector<std::string> versions_of(const std::string& name, const ProgramPaths& paths) {
    std::vector<std::string> found;
    std::set<fs::path> seen;
    each_file(paths.libraries, [&](const fs::path& path, const std::string& file) {
        if (without_version(file) != name || file == name + ".so" || !is_library(path, paths)) return;
        std::error_code error;
        if (seen.insert(fs::canonical(path, error)).second) found.push_back(path);
    });
    if (!found.empty()) return found;
    each_file(paths.libraries, [&](const fs::path& path, const std::string& file) {
        if (found.empty() && file == name + ".so" && is_library(path, paths)) found.push_back(path);
    });
    return found;
}

Error not_found(const std::string& name, const ProgramPaths& paths) {
    Nearest nearest(name);
    each_file(paths.programs, [&](const fs::path&, const std::string& file) { nearest.offer(file); });
    each_file(paths.libraries, [&](const fs::path&, const std::string& file) { nearest.offer(without_version(file)); });
    const auto near = nearest.names();
    return {Errc::script, fmt::format("no program or library '{}'{}{}", name,
                                      near.empty() ? "" : "; near to it: ", fmt::join(near, ", "))};
}

}  // namespace

ProgramPaths ProgramPaths::usual(uint16_t machine) {
    ProgramPaths paths;
    paths.machine = machine;
    add_listed(std::getenv("PATH"), paths.programs);
    add_listed(std::getenv("LD_LIBRARY_PATH"), paths.libraries);
    add_loader_list(loader_list, paths.libraries);
    for (const char* directory : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"}) paths.libraries.emplace_back(directory);
#ifdef KPL_MULTIARCH
    for (const char* directory : {"/lib/" KPL_MULTIARCH, "/usr/lib/" KPL_MULTIARCH})
        paths.libraries.emplace_back(directory);
#endif
    return paths;
}

bool can_run(const std::string& path) {
    struct stat file {};
    return ::stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

Result<std::string> find_program(const std::string& name, const ProgramPaths& paths) {
    if (name.find('/') != name.npos) return name;
    for (const std::string& directory : paths.programs)
        if (const std::string path = directory + "/" + name; can_run(path)) return path;
    for (const std::string& directory : paths.libraries)
        if (const fs::path path = directory + "/" + name; !without_version(name).empty() && is_library(path, paths))
            return path.string();
    const auto versions = versions_of(name, paths);
    if (versions.empty()) return not_found(name, paths);
    if (versions.size() == 1) return versions.front();
    std::vector<std::string> names;
    for (const std::string& path : versions) names.push_back(fs::path(path).filename());
    return Error{Errc::script, fmt::format("'{}' is {} libraries here: {}; name one of them", name, names.size(),
                                           fmt::join(names, ", "))};
}

std::vector<std::string> program_names(const std::string& begin, const ProgramPaths& paths) {
    std::set<std::string> names;
    each_file(paths.programs, [&](const fs::path&, const std::string& file) {
        if (file.starts_with(begin)) names.insert(file);
    });
    each_file(paths.libraries, [&](const fs::path&, const std::string& file) {
        const std::string name(without_version(file));
        if (!name.empty() && name.starts_with(begin)) names.insert(name);
    });
    return {names.begin(), names.end()};
}

}  // namespace kpl
