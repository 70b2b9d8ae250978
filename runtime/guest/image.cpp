// SPDX-License-Identifier: MIT
#include "guest/image.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/process.hpp"
#include "base/regular_file.hpp"
#include "guest/elf_deps.hpp"
#include "guest/init_blob.hpp"
#include "guest/protocol.h"
#include "guest/system_error.hpp"

namespace kpl {
namespace {

namespace fs = std::filesystem;

constexpr const char* busybox_path = "/bin/busybox";
constexpr int max_links = 40;  // as the kernel's own limit on symbolic links in one path
constexpr int lua_depth = 3;
constexpr int max_lua_entries = 20000;  // a script in a huge directory does not make the image huge
constexpr std::size_t max_lua_bytes = 16 << 20;

Result<std::string> read_file(const std::string& path, std::size_t most = SIZE_MAX) {
    const UniqueFd fd = open_regular(path);
    if (!fd) return system_error(path, errno);
    std::string bytes;
    for (char block[1 << 16];;) {
        const ssize_t n = read(fd.get(), block, sizeof(block));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return system_error(path, errno);
        if (n == 0) return bytes;
        if (static_cast<std::size_t>(n) > most - bytes.size()) return system_error(path, EFBIG);
        bytes.append(block, static_cast<std::size_t>(n));
    }
}

// The kernel's own file systems are mounted over these: a file placed there would not be seen.
bool is_hidden_in_guest(const std::string& path) {
    for (const char* top : {"/dev", "/proc", "/sys", "/.kpl"})
        if (path == top || path.starts_with(std::string(top) + "/")) return true;
    return false;
}

}  // namespace

Result<GuestImage> GuestImage::create() {
    GuestImage image;
    for (const char* dir : {"/dev", "/proc", "/sys", "/root", "/etc", "/.kpl"}) image.tree_.add_dir(dir);
    for (const char* dir : {"/tmp", "/run", "/var/tmp"}) image.tree_.add_dir(dir, 01777);
    image.tree_.add_char_device("/dev/console", 5, 1, 0600);
    image.tree_.add_file("/init", std::string(guest_init_program()), 0755);
    image.tree_.add_file("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n");
    image.tree_.add_file("/etc/group", "root:x:0:\nnogroup:x:65534:\n");
    image.tree_.add_file("/etc/hosts", "127.0.0.1 localhost\n");
    image.tree_.add_file("/etc/hostname", "kprobe-lua-vm\n");
    // The loader's cache, for libraries that come from directories which only it names; the local time zone.
    for (const char* file : {"/etc/ld.so.cache", "/etc/localtime"})
        if (fs::exists(file)) TRY(image.add_host(file));
    TRY(image.add_busybox());
    return image;
}

Result<void> GuestImage::add_busybox() {
    if (access(busybox_path, X_OK) != 0)
        return Error{Errc::system,
                     fmt::format("no {}, which the VM's shell is: apt-get install busybox-static", busybox_path)};
    if (!TRY(program_needs(busybox_path)).libraries.empty())
        return Error{Errc::system, fmt::format("{} is not static: apt-get install busybox-static", busybox_path)};
    TRY(add_host(busybox_path));
    // Each line is a command's place: "bin/cat", "usr/bin/cut".
    const ProgramOutput commands = TRY(program_output({busybox_path, "--list-full"}));
    if (!commands.succeeded) return Error{Errc::system, fmt::format("{} --list-full failed", busybox_path)};
    std::istringstream lines(commands.text);
    size_t count = 0;
    for (std::string line; std::getline(lines, line); count++) {
        const std::string place = TRY(resolve("/" + line, false));
        if (!tree_.contains(place)) tree_.add_link(place, busybox_path);
    }
    note(fmt::format("init, and busybox with {} commands", count));
    return {};
}

// Walks `path` from the root as the kernel would, copying the symbolic links that it meets; yields the path
// that has no link in it. Components that do not exist on the host are taken as they are.
Result<std::string> GuestImage::resolve(const std::string& path, bool follow_last) {
    std::string done, rest = path;
    for (int links = 0; !rest.empty();) {
        const auto start = rest.find_first_not_of('/');
        if (start == std::string::npos) break;
        const auto end = std::min(rest.find('/', start), rest.size());
        const std::string name = rest.substr(start, end - start);
        rest.erase(0, end);
        if (name == ".") continue;
        if (name == "..") {
            if (!done.empty() && !is_hidden_in_guest(done) && !tree_.contains(done))
                tree_.add_dir(done);  // what is walked through is there
            done.resize(done.empty() ? 0 : done.rfind('/'));
            continue;
        }
        const std::string here = done + "/" + name;
        std::error_code error;
        const bool last = rest.find_first_not_of('/') == std::string::npos;
        if ((last && !follow_last) || !fs::is_symlink(fs::symlink_status(here, error))) {
            done = here;
            continue;
        }
        if (++links > max_links) return system_error(path, ELOOP);
        const std::string target = fs::read_symlink(here, error);
        if (error) return system_error(here, error.value());
        if (!is_hidden_in_guest(here)) tree_.add_link(here, target);
        if (target.starts_with('/')) done.clear();
        rest = target + rest;
    }
    return done.empty() ? "/" : done;
}

Result<void> GuestImage::add_host(const std::string& path) {
    if (is_hidden_in_guest(path))
        return Error{Errc::system, fmt::format("{}: a file in /dev, /proc or /sys can't be put into a VM", path)};
    const std::string real = TRY(resolve(path, true));
    struct stat st;
    if (stat(real.c_str(), &st) != 0) return system_error(path, errno);
    if (S_ISDIR(st.st_mode)) return add_directory(path, real);
    if (!S_ISREG(st.st_mode)) return Error{Errc::system, path + ": not a file or directory"};
    return add_file(real);
}

Result<void> GuestImage::add_dir(const std::string& path) {
    const std::string real = TRY(resolve(path, true));
    if (real != "/" && !tree_.contains(real)) tree_.add_dir(real);
    return {};
}

Result<void> GuestImage::add_file(const std::string& real) {
    struct stat st;
    if (stat(real.c_str(), &st) != 0) return system_error(real, errno);
    tree_.add_file(real, TRY(read_file(real)), st.st_mode & 07777);
    return add_needs(real);
}

Result<void> GuestImage::add_program(const std::string& path) {
    TRY(add_host(path));
    const std::string real = TRY(resolve(path, true));
    struct stat st;
    if (stat(real.c_str(), &st) != 0) return system_error(path, errno);
    tree_.add_file(real, loaded_part(TRY(read_file(real))), st.st_mode & 07777);
    return {};
}

Result<void> GuestImage::add_directory(const std::string& path, const std::string& real) {
    if (real == "/") return Error{Errc::system, path + ": the whole file system can't be put into a VM"};
    if (!directories_.insert(real).second) return {};  // a link below it leads back here
    tree_.add_dir(real);
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(real, error)) {
        const bool wanted = entry.is_directory(error) || entry.is_regular_file(error);
        if (wanted && !tree_.contains(entry.path())) TRY(add_host(entry.path()));
    }
    if (error) return system_error(path, error.value());
    return {};
}

Result<void> GuestImage::add_needs(const std::string& real) {
    const ProgramNeeds needs = TRY(program_needs(real));
    for (const auto& library : needs.libraries) {
        const std::string place = TRY(resolve(library, true));
        if (!tree_.contains(place)) tree_.add_file(place, TRY(read_file(place)), 0755);
    }
    if (needs.is_elf || needs.interpreter.empty() || !fs::exists(needs.interpreter)) return {};
    const std::string place = TRY(resolve(needs.interpreter, false));
    return tree_.contains(place) ? Result<void>{} : add_host(needs.interpreter);
}

// Somebody else may have put it there (/tmp): only its bytes are taken, and nothing that they name.
void GuestImage::add_lua_file(const std::string& path) {
    const auto real = resolve(path, true);
    struct stat st;
    if (!real || is_hidden_in_guest(*real) || tree_.contains(*real) || stat(real->c_str(), &st) != 0) return;
    if (auto bytes = read_file(*real, max_lua_bytes)) tree_.add_file(*real, std::move(*bytes), st.st_mode & 0777);
}

Result<void> GuestImage::add_lua_tree(const std::string& dir) {
    std::error_code error;
    auto it = fs::recursive_directory_iterator(dir, fs::directory_options::skip_permission_denied, error);
    for (int seen = 0; !error && it != fs::recursive_directory_iterator() && seen < max_lua_entries; seen++) {
        const fs::path path = it->path();
        const bool hidden = path.filename().string().starts_with('.');
        if (it->is_directory(error) && (hidden || it.depth() + 1 >= lua_depth)) it.disable_recursion_pending();
        if (!hidden && path.extension() == ".lua" && it->is_regular_file(error)) add_lua_file(path);
        it.increment(error);
    }
    return {};
}

Result<void> GuestImage::add_command(const std::string& path) {
    if (access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path))
        tree_.add_link(KPL_COMMANDS "/" + fs::path(path).filename().string(), fs::absolute(path));
    return {};
}

Result<void> GuestImage::add_host_shell() {
    constexpr const char* shell = "/bin/sh";
    std::error_code error;
    const bool has_one = access(shell, X_OK) == 0 && fs::canonical(shell, error) != fs::canonical(busybox_path, error);
    return has_one ? add_host(shell) : Result<void>{};
}

void GuestImage::note(const std::string& what) {
    const auto now = tree_.size();
    const size_t files = now.first - noted_.first, bytes = now.second - noted_.second;
    holds_ += fmt::format("  {}: {} file{}, {} KiB\n", what, files, files == 1 ? "" : "s", (bytes + 1023) >> 10);
    noted_ = now;
}

void GuestImage::configure(std::string_view key, std::string_view value) {
    config_.append(key).append("=").append(value).push_back('\0');
}

std::string GuestImage::serialize() {
    tree_.add_file(KPL_CONFIG_PATH, config_, 0600);
    return tree_.serialize();
}

Result<std::string> find_host_file(const std::string& name) {
    std::error_code error;
    if (fs::exists(name, error)) return fs::absolute(name).string();
    const char* path = std::getenv("PATH");
    if (name.find('/') == std::string::npos && path) {
        std::istringstream dirs(path);
        for (std::string dir; std::getline(dirs, dir, ':');) {
            const fs::path candidate = fs::absolute(fs::path(dir) / name);
            if (access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate, error))
                return candidate.string();
        }
    }
    return Error{Errc::system, name + ": no such file, and no such program in PATH"};
}

}  // namespace kpl
