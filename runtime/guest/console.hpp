// SPDX-License-Identifier: MIT
// What a guest's kernel console says: whether the kernel is well.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kpl {

// Collects console output and finds the kernel's reports of its own trouble ("splats"): BUG, WARNING, oops,
// lockup, RCU stall, sanitizer, panic. A race in whose report no module of this project stands, or only as what an
// interrupt found under way, or as the stub through which the kernel called what raced, is the kernel's own and no
// trouble.
class Console {
  public:
    void append(std::string_view bytes);
    // The call trace behind a line with this text is no trouble.
    void let_through(std::string text) { harmless_.push_back(std::move(text)); }
    // A race that lies in this function of the kernel is the kernel's, whoever calls it.
    void let_race(std::string function) { racy_.push_back(std::move(function)); }

    bool clean() const { return splats_.empty(); }
    // The lines that report trouble, without time stamps.
    const std::vector<std::string>& splats() const { return splats_; }
    // Which of lines() they are, in order.
    const std::vector<std::size_t>& splat_lines() const { return splat_lines_; }
    // Which of lines() report races of the kernel's own.
    const std::vector<std::size_t>& kernel_races() const { return kernel_races_; }

    // All lines so far, the one in the making included.
    std::vector<std::string> lines() const;
    // The lines from the first splat on, at most `limit` and all of the module; without a splat, the last `limit`.
    std::string excerpt(std::size_t limit = 60) const;

  private:
    void take_line(std::string line);
    void follow_race(std::string_view line);

    std::vector<std::string> lines_;
    std::vector<std::string> harmless_{"invoked oom-killer:"};
    bool trace_to_come_ = false;  // of such a line
    std::string partial_;
    std::vector<std::string> splats_;
    std::vector<std::size_t> splat_lines_;
    std::vector<std::string> racy_;
    // The race whose report goes on and has not shown to be ours: a splat until it has ended.
    std::optional<std::size_t> race_;
    bool in_racy_ = false, interrupted_ = false;
    std::vector<std::size_t> kernel_races_;
};

// A console line without its time stamp.
std::string_view without_stamp(std::string_view line);

// Whether a console line names a function of this project's modules or of the tests': "f+0x12/0x34 [kprobe_lua]".
bool names_our_module(std::string_view line);

// Whether a console line reports trouble, when nothing is known of those before it.
bool is_splat(std::string_view line);

}  // namespace kpl
