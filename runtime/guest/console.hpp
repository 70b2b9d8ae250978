// SPDX-License-Identifier: MIT
// What a guest's kernel console says: whether the kernel is well.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kpl {

// Collects console output and finds the kernel's reports of its own trouble ("splats"): BUG, WARNING, oops,
// lockup, RCU stall, sanitizer, panic.
class Console {
  public:
    void append(std::string_view bytes);

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
    bool oom_kill_ = false;  // its call trace is still to come
    std::string partial_;
    std::vector<std::string> splats_;
    std::vector<std::size_t> splat_lines_;
};

// Whether a console line reports trouble, when nothing is known of those before it.
bool is_splat(std::string_view line);

}  // namespace kpl
