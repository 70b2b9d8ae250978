// SPDX-License-Identifier: MIT
#include "command/child.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kpl {
namespace {

constexpr int patience_ms = 1000;  // between asking the command to end and killing it

}  // namespace

Result<Child> Child::start(const std::string& text) {
    const pid_t pid = ::fork();
    if (pid < 0) return Error{Errc::system, std::string("can't start the command: ") + std::strerror(errno)};
    if (pid == 0) {
        ::signal(SIGPIPE, SIG_DFL);
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
        ::execl("/bin/sh", "sh", "-c", text.c_str(), nullptr);
        ::_exit(127);
    }
    UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    const int error = errno;
    Child child(pid, std::move(pidfd));
    if (child.fd() < 0) return Error{Errc::system, std::string("can't watch the command: ") + std::strerror(error)};
    return child;
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}

Child::~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    pollfd ended{pidfd_.get(), POLLIN, 0};
    if (::poll(&ended, 1, patience_ms) != 1) ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

int shell_status(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

std::string command_end(int status) {
    if (WIFSIGNALED(status))
        return "was ended by signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
    return WEXITSTATUS(status) == 0 ? "" : "ended with status " + std::to_string(WEXITSTATUS(status));
}

std::optional<int> Child::poll() {
    int status = 0;
    if (pid_ <= 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
    pid_ = -1;
    return status;
}

}  // namespace kpl
