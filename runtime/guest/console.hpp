// SPDX-License-Identifier: MIT
// What a guest's kernel console says: whether the kernel is well.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kpl {

// Collects console output and finds the kernel's reports of its own trouble ("splats"): BUG, WARNING, oops,
// lockup, RCU stall, sanitizer, panic.
class Console {
  public:
    void append(std::string_view bytes);
    // The call trace behind a line with this text is no trouble.
    void let_through(std::string text) { harmless_.push_back(std::move(text)); }

    bool clean() const { return splats_.empty(); }
    // The lines that report trouble, without time stamps.
    const std::vector<std::string>& splats() const { return splats_; }
    // Which of lines() they are, in order.
    const std::vector<std::size_t>& splat_lines() const { return splat_lines_; }

    // All lines so far, the one in the making included.
    std::vector<std::string> lines() const;
    // The lines from the first splat on, at most `limit` and all of the module; without a splat, the last `limit`.
    std::string excerpt(std::size_t limit = 60) const;

  private:
    void take_line(std::string line);

    std::vector<std::string> lines_;
    std::vector<std::string> harmless_{"invoked oom-killer:"};
    bool trace_to_come_ = false;  // of such a line
    std::string partial_;
    std::vector<std::string> splats_;
    std::vector<std::size_t> splat_lines_;
};

// Whether a console line reports trouble, when nothing is known of those before it.
bool is_splat(std::string_view line);

}  // namespace kpl
