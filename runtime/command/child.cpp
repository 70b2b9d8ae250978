// SPDX-License-Identifier: MIT
#include "command/child.hpp"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace kpl {
namespace {

constexpr int patience_ms = 1000;  // between asking the command to end and killing it

}  // namespace

Result<Child> Child::start(const std::string& text) {
    auto process = Process::start({"/bin/sh", "-c", text}, [] {
        ::signal(SIGPIPE, SIG_DFL);  // which this program ignores
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    });
    if (!process) return Error{Errc::system, "can't start the command: " + process.error().text};
    return Child(std::move(process).value());
}

Child::~Child() { process_.end(SIGTERM, patience_ms); }

int shell_status(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

std::string command_end(int status) {
    if (WIFSIGNALED(status))
        return "was ended by signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
    return WEXITSTATUS(status) == 0 ? "" : "ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace kpl
