// SPDX-License-Identifier: MIT
// What a terminal shows of the bytes that it is sent: enough of one for line editors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

class Emulator {
  public:
    Emulator(size_t rows, size_t columns) { resize(rows, columns); }
    void resize(size_t rows, size_t columns);
    void feed(std::string_view bytes);

    size_t row() const { return gone_.size() + row_; }  // of the cursor, counted from the first line ever
    size_t column() const { return column_; }
    size_t lines() const { return gone_.size() + screen_.size(); }
    std::string line(size_t number) const;  // UTF-8, without the blanks at its end
    std::string text() const;               // all that is not blank at the end

  private:
    using Line = std::u32string;
    void put(char32_t c);
    void new_line();
    void control(char32_t c);
    void sequence(char final);
    size_t number(size_t index, size_t otherwise) const;
    Line& here();

    size_t rows_ = 0, columns_ = 0;
    std::vector<Line> gone_, screen_;  // above the screen, on it
    size_t row_ = 0, column_ = 0;
    bool insert_ = false;
    std::string pending_;   // of a sequence or a character
    char32_t partial_ = 0;  // of a character
    int more_ = 0;          // bytes that it still takes
};
