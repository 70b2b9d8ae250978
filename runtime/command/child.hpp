// SPDX-License-Identifier: MIT
// Child: the program of -c, started once the probes are armed.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace kpl {

class Child {
  public:
    // Starts `sh -c text` with the signal mask and dispositions that this process had at its start.
    static Result<Child> start(const std::string& text);
    Child(Child&&) noexcept;
    Child& operator=(Child&&) = delete;
    ~Child();  // ends it if it still runs

    int fd() const { return pidfd_.get(); }  // readable when it has ended
    // The wait status once it has ended.
    std::optional<int> poll();

  private:
    Child(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
    pid_t pid_;
    UniqueFd pidfd_;
};

// How it ended, from poll()'s status: "ended with status 3", "was ended by signal 9 (Killed)"; empty: well.
std::string command_end(int status);
int shell_status(int status);  // as $? has it

}  // namespace kpl
