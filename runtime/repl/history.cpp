// SPDX-License-Identifier: MIT
// A line for each input; a newline in it is "\n", a backslash "\\". Whoever writes holds the file's lock, and nobody
// puts another file in its place: what others append to stays the same file.
#include "repl/history.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/unique_fd.hpp"

namespace kpl {
namespace {

constexpr size_t most_inputs = 10000;
constexpr size_t longest_input = 1 << 16;

std::string escaped(const std::string& input) {
    std::string line;
    for (const char c : input) line += c == '\n' ? "\\n" : c == '\\' ? "\\\\" : std::string(1, c);
    return line + "\n";
}

Error failed(const std::string& path) { return {Errc::system, "the history " + path + ": " + std::strerror(errno)}; }

// Locked until it is closed.
Result<UniqueFd> open_locked(const std::string& path, int flags) {
    UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (!fd) return failed(path);
    // Of another user's home, perhaps: what lies there may be anything.
    struct stat file {};
    if (::fstat(fd.get(), &file) != 0 || !S_ISREG(file.st_mode) || file.st_uid != ::geteuid())
        return Error{Errc::system, "the history " + path + " is not a file of yours"};
    ::fchmod(fd.get(), 0600);
    while (::flock(fd.get(), LOCK_EX) != 0)
        if (errno != EINTR) return failed(path);
    return fd;
}

Result<void> write_all(int fd, const std::string& text, const std::string& path) {
    for (size_t done = 0; done < text.size();) {
        const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
        if (n < 0 && errno != EINTR) return failed(path);
        if (n > 0) done += static_cast<size_t>(n);
    }
    return {};
}

}  // namespace

std::string History::usual_path() {
    const char *state = std::getenv("XDG_STATE_HOME"), *home = std::getenv("HOME");
    if (state && *state == '/') return std::string(state) + "/kprobe-lua/history";
    return home && *home ? std::string(home) + "/.local/state/kprobe-lua/history" : std::string();
}

std::vector<std::string> History::inputs_of(std::string_view text) {
    std::vector<std::string> inputs;
    std::string input;
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] == '\n') {
            if (!input.empty()) inputs.push_back(std::move(input));
            input.clear();
        } else if (text[i] == '\\' && i + 1 < text.size()) {
            i++;
            input += text[i] == 'n' ? '\n' : text[i];
        } else {
            input += text[i];
        }
    }
    return inputs;
}

Result<std::vector<std::string>> History::load() const {
    if (path_.empty() || ::access(path_.c_str(), F_OK) != 0) return std::vector<std::string>();
    const UniqueFd fd = TRY(open_locked(path_, O_RDWR | O_APPEND));
    std::string text;
    char bytes[65536];
    for (ssize_t n; (n = ::read(fd.get(), bytes, sizeof bytes)) != 0;) {
        if (n < 0) return failed(path_);
        text.append(bytes, static_cast<size_t>(n));
    }
    std::vector<std::string> inputs = inputs_of(text);
    if (inputs.size() <= most_inputs) return inputs;
    inputs.erase(inputs.begin(), inputs.end() - most_inputs);
    std::string kept;
    for (const std::string& input : inputs) kept += escaped(input);
    if (::ftruncate(fd.get(), 0) != 0) return failed(path_);
    TRY(write_all(fd.get(), kept, path_));
    return inputs;
}

Result<void> History::add(const std::string& input) const {
    if (path_.empty() || input.size() > longest_input) return {};
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
    const UniqueFd fd = TRY(open_locked(path_, O_WRONLY | O_APPEND | O_CREAT));
    return write_all(fd.get(), escaped(input), path_);
}

}  // namespace kpl
