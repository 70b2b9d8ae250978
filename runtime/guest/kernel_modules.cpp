// SPDX-License-Identifier: MIT
#include "guest/kernel_modules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/process.hpp"
#include "guest/system_error.hpp"

namespace kpl {
namespace {

namespace fs = std::filesystem;

constexpr std::pair<const char*, const char*> packings[] = {{".xz", "xzcat"}, {".gz", "zcat"}, {".zst", "zstdcat"}};

// "kernel/a/two-words.ko.xz" → "two_words": as the kernel calls it.
std::string module_name(const std::string& path) {
    std::string name = fs::path(path).filename();
    name = name.substr(0, name.find(".ko"));
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

}  // namespace

bool names_module(const std::string& name) {
    if (name.ends_with(".ko")) return true;
    return std::any_of(std::begin(packings), std::end(packings),
                       [&](const auto& packing) { return name.ends_with(std::string(".ko") + packing.first); });
}

// modules.dep has a line for each module, "kernel/a.ko: kernel/b.ko kernel/c.ko": all that it needs, the last one
// first.
Result<std::vector<std::string>> module_files(const std::string& name, const std::string& release,
                                              const std::string& modules_dir) {
    std::error_code error;
    const std::string own =
        fs::weakly_canonical(modules_dir, error).string() + "/" + release + "/";  // the VM has links as here
    const bool is_file = fs::exists(name, error);
    const std::string path = is_file ? fs::weakly_canonical(name, error).string() : "";
    if (is_file && !path.starts_with(own)) return std::vector<std::string>{fs::absolute(name)};
    std::ifstream list(own + "modules.dep");
    for (std::string line; std::getline(list, line);) {
        const size_t colon = line.find(':');
        if (colon == line.npos || module_name(line.substr(0, colon)) != module_name(name)) continue;
        std::istringstream needed(line.substr(colon + 1));
        std::vector<std::string> files{own + line.substr(0, colon)};
        for (std::string one; needed >> one;) files.push_back(own + one);
        std::reverse(files.begin(), files.end());
        return files;
    }
    if (is_file) return std::vector<std::string>{path};
    return Error{Errc::system, fmt::format("{}: no such file, and no such module of {}", name, release)};
}

Result<std::string> module_bytes(const std::string& path) {
    for (const auto& [suffix, unpack] : packings) {
        if (!path.ends_with(suffix)) continue;
        const ProgramOutput bytes = TRY(program_output({unpack, path}));
        if (!bytes.succeeded) return Error{Errc::system, fmt::format("{}: {} can't unpack it", path, unpack)};
        return bytes.text;
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) return system_error(path, errno);
    return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace kpl
