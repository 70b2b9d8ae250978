// SPDX-License-Identifier: MIT
// ErrorList: what the last call that failed had to say, line by line. Calls that have no session, or may not touch it,
// leave the number of their error to their thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace kpl::api {

class ErrorList {
  public:
    struct Line {
        std::string file;
        int line = 0;
        std::string text;
    };

    // Each gives the number of the error, which is below 0.
    int set(const Error& error);
    int set(int number, std::string text);
    int set_memory() noexcept;

    // Of the calling thread's last call, when that has failed without text; else 0.
    static int textless(int number) { return textless_ = number; }
    static int textless() { return textless_; }

    int number() const { return number_; }
    const char* text() const { return out_of_memory_ ? "out of memory" : text_.c_str(); }
    const std::vector<Line>& lines() const { return lines_; }

  private:
    static thread_local int textless_;
    int number_ = 0;
    bool out_of_memory_ = false;
    std::string text_;
    std::vector<Line> lines_;
};

}  // namespace kpl::api
