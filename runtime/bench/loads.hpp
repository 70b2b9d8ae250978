// SPDX-License-Identifier: MIT
// What is called so many times, and what that takes.
#pragma once

#include <optional>
#include <string>

#include "base/mapping.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "bench/figures.hpp"
#include "device/device.hpp"

namespace kpl {

// Instructions of this thread, in user space and in the kernel.
class InstructionCounter {
  public:
    InstructionCounter();
    // Why there are none; empty: they are counted.
    const std::string& why_not() const { return why_not_; }
    std::optional<double> read() const;

  private:
    UniqueFd fd_;
    std::string why_not_;
};

class Loads {
  public:
    explicit Loads(const Device& device) : device_(device) {}
    const InstructionCounter& counter() const { return counter_; }
    // Nothing: a signal came. Calls are rounded up to what the load does at once.
    Result<std::optional<Round>> run(Load load, uint64_t calls);
    // "/path/to/program:0x12345": what Load::Program calls.
    static Result<std::string> own_function();

  private:
    const Device& device_;
    InstructionCounter counter_;
};

}  // namespace kpl
