// SPDX-License-Identifier: MIT
// Processes that this one starts.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace kpl {

// It does not outlive its owner.
class Process {
  public:
    // Runs argv[0], which is looked for in $PATH. `prepare` runs in the new process just before that, with system calls
    // only.
    static Result<Process> start(const std::vector<std::string>& argv, const std::function<void()>& prepare);
    Process(Process&&) noexcept;
    Process& operator=(Process&&) = delete;
    ~Process() { end(); }

    int fd() const { return pidfd_.get(); }  // readable when it has ended
    std::optional<int> poll();               // the wait status, once, when it has ended
    int wait();                              // the same, whenever that is; -1: it was told before
    // Sends `signal`, and SIGKILL if it has not ended after that time; reaps it.
    void end(int signal = 0, int patience_ms = 0);

  private:
    Process(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
    pid_t pid_;  // -1: reaped
    UniqueFd pidfd_;
};

struct ProgramOutput {
    std::string text;  // what it wrote to stdout; its stderr is dropped
    bool succeeded = false;
};

// Runs `argv` to its end, with stdin from /dev/null.
Result<ProgramOutput> program_output(const std::vector<std::string>& argv);

}  // namespace kpl
