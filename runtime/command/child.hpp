// SPDX-License-Identifier: MIT
// Child: the program of -c, started once the probes are armed.
#pragma once

#include <optional>
#include <string>

#include "base/process.hpp"

namespace kpl {

class Child {
  public:
    // Starts `sh -c text`.
    static Result<Child> start(const std::string& text);
    Child(Child&&) noexcept = default;
    ~Child();  // ends it if it still runs

    int fd() const { return process_.fd(); }               // readable when it has ended
    std::optional<int> poll() { return process_.poll(); }  // the wait status once it has ended

  private:
    explicit Child(Process process) : process_(std::move(process)) {}
    Process process_;
};

// How it ended, from poll()'s status: "ended with status 3", "was ended by signal 9 (Killed)"; empty: well.
std::string command_end(int status);
int shell_status(int status);  // as $? has it

}  // namespace kpl
