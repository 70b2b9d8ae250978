// SPDX-License-Identifier: MIT
// Screen: of what events bring, what people can read: a screenful a second. The rest is counted.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace kpl {

class Screen {
  public:
    // `keeps`: where all of it is: "-o FILE keeps all".
    explicit Screen(std::string keeps) : keeps_(std::move(keeps)) {}

    void resize(size_t rows, size_t columns) { rows_ = rows, columns_ = columns; }
    // Text that has come; lines end in newlines. Times are monotonic_ns().
    void add(std::string_view text, uint64_t now);
    // A message, which is shown beside a screenful of other lines, and while these are held.
    void add_message(std::string_view line, uint64_t now);
    // Whole lines that are to be shown now.
    std::string take(uint64_t now);
    // For how long take() has nothing, unless add() is called before; nothing: for ever.
    std::optional<uint64_t> due(uint64_t now) const;

    void pause() { paused_ = true; }
    void resume();  // what came meanwhile is to be shown now
    bool paused() const { return paused_; }

  private:
    size_t room() const { return rows_ > 6 ? rows_ - 3 : 3; }
    void add_line(std::string_view line);
    void close_window(uint64_t now);

    std::string keeps_;
    size_t rows_ = 24, columns_ = 80;
    std::string partial_;  // a line that has no end yet
    std::string ready_;
    uint64_t began_ = 0;             // the second that counts; 0: none
    size_t used_ = 0;                // rows in it
    size_t messages_ = 0;            // in it
    uint64_t lines_ = 0, left_ = 0;  // in it: that came, that are not shown
    bool paused_ = false;
    std::deque<std::string> held_;  // the last lines that came while paused
    uint64_t held_left_ = 0;        // those before
};

}  // namespace kpl
