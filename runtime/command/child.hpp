// SPDX-License-Identifier: MIT
// Command: the program of -c, started once the probes are armed.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace kpl {

class Command {
  public:
    // Starts `sh -c text` with the signal mask and dispositions that this process had at its start.
    static Result<Command> start(const std::string& text);
    Command(Command&&) noexcept;
    Command& operator=(Command&&) = delete;
    ~Command();  // ends it if it still runs

    int fd() const { return pidfd_.get(); }  // readable when it has ended
    // The wait status once it has ended.
    std::optional<int> poll();

  private:
    Command(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
    pid_t pid_;
    UniqueFd pidfd_;
};

}  // namespace kpl
