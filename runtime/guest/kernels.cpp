// SPDX-License-Identifier: MIT
#include "guest/kernels.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <optional>

namespace kpl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view image_prefix = "vmlinuz-";

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Whether one of the release's dash-separated parts is `flavour`.
bool has_flavour(std::string_view release, std::string_view flavour) {
    return fmt::format("-{}-", release).find(fmt::format("-{}-", flavour)) != std::string::npos;
}

// Takes the number that `text` starts with; without leading zeroes, so that length decides first.
std::string_view take_number(std::string_view& text) {
    std::size_t n = 0;
    while (n < text.size() && is_digit(text[n])) n++;
    std::string_view number = text.substr(0, n);
    text.remove_prefix(n);
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
    return number;
}

std::vector<std::string> releases_in(const std::string& boot_dir) {
    std::vector<std::string> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(boot_dir, error)) {
        const std::string name = entry.path().filename();
        if (name.starts_with(image_prefix)) found.push_back(name.substr(image_prefix.size()));
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return kernel_older(b, a); });
    return found;
}

// The Debian package that brings such a kernel.
std::string package_for(const std::string& wanted) {
    if (wanted.ends_with("-rt"))
        return wanted.starts_with("6.12") ? "linux-image-6.12-rt-amd64" : "linux-image-rt-amd64";
    return wanted.starts_with("6.12") ? "linux-image-6.12-cloud-amd64" : "linux-image-cloud-amd64";
}

Error no_kernel(const std::string& wanted, const std::vector<std::string>& present, const std::string& boot_dir) {
    std::string have;
    for (const auto& release : present) have += (have.empty() ? "" : ", ") + release;
    return {
        Errc::system,
        fmt::format("no kernel{} in {} to boot a VM with (there is: {}): install one, e.g. apt-get install {}",
                    wanted.empty() ? "" : " " + wanted, boot_dir, have.empty() ? "none" : have, package_for(wanted))};
}

}  // namespace

bool kernel_matches(std::string_view release, std::string_view wanted) {
    if (release == wanted) return true;
    std::string_view version = wanted, flavour;
    if (const auto dash = wanted.find('-'); dash != std::string_view::npos) {
        version = wanted.substr(0, dash);
        flavour = wanted.substr(dash + 1);
    }
    if (has_flavour(release, "rt") != (flavour == "rt")) return false;
    if (!flavour.empty() && !has_flavour(release, flavour)) return false;
    if (!release.starts_with(version)) return false;
    return version.empty() || release.size() == version.size() || !is_digit(release[version.size()]);
}

bool kernel_older(std::string_view a, std::string_view b) {
    while (!a.empty() && !b.empty()) {
        if (is_digit(a[0]) && is_digit(b[0])) {
            const std::string_view x = take_number(a), y = take_number(b);
            if (x.size() != y.size()) return x.size() < y.size();
            if (x != y) return x < y;
        } else {
            if (a[0] != b[0]) return a[0] < b[0];
            a.remove_prefix(1);
            b.remove_prefix(1);
        }
    }
    return a.size() < b.size();
}

std::string usual_boot_dir() {
    const char* dir = std::getenv("KPROBE_LUA_BOOT_DIR");
    return dir && *dir ? dir : "/boot";
}

std::string module_for(const std::string& module_dir, const std::string& release) {
    std::error_code error;
    for (const char* below : {"extra/", "updates/", "updates/dkms/"})
        if (std::string file = fmt::format("{}/{}/{}kprobe_lua.ko", module_dir, release, below);
            fs::exists(file, error))
            return file;
    return fmt::format("{}/{}/kprobe_lua.ko", module_dir, release);
}

Result<GuestKernel> pick_kernel(const std::string& wanted, const std::string& module_dir, const std::string& boot_dir) {
    const std::vector<std::string> present = releases_in(boot_dir);
    std::optional<std::string> without_module, unreadable;
    for (const auto& release : present) {
        if (!kernel_matches(release, wanted)) continue;
        GuestKernel kernel{release, fmt::format("{}/{}{}", boot_dir, image_prefix, release), "", {}};
        if (!module_dir.empty()) {
            kernel.module = module_for(module_dir, release);
            if (!fs::exists(kernel.module)) {
                if (!without_module) without_module = release;
                continue;
            }
            const fs::path stubs = fs::path(kernel.module).replace_filename("kprobe_lua_stubs.ko");
            if (fs::exists(stubs)) kernel.other_modules.push_back(stubs);
        }
        if (access(kernel.image.c_str(), R_OK) == 0) return kernel;
        if (!unreadable) unreadable = kernel.image;
    }
    if (unreadable)
        return Error{Errc::system,
                     fmt::format("can't read {0}, to boot a VM with: run as root, or sudo chmod a+r {0}", *unreadable)};
    if (without_module)
        return Error{Errc::system, fmt::format("no module for kernel {0} ({1}/{0}/kprobe_lua.ko): apt-get install "
                                               "linux-headers-{0}, then make",
                                               *without_module, module_dir)};
    return no_kernel(wanted, present, boot_dir);
}

}  // namespace kpl
