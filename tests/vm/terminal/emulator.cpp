// SPDX-License-Identifier: MIT
#include "emulator.hpp"

#include <algorithm>
#include <cstdlib>

namespace {

void add_utf8(std::string& out, char32_t c) {
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        out += static_cast<char>(0xc0 | c >> 6);
        out += static_cast<char>(0x80 | (c & 0x3f));
    } else {
        if (c >= 0x10000) out += static_cast<char>(0xf0 | c >> 18);
        out += static_cast<char>(c >= 0x10000 ? 0x80 | (c >> 12 & 0x3f) : 0xe0 | c >> 12);
        out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (c & 0x3f));
    }
}

}  // namespace

// What is on the screen stays there, by rows, as terminals without reflow do it.
void Emulator::resize(size_t rows, size_t columns) {
    rows_ = rows, columns_ = columns;
    while (screen_.size() > rows_) {
        gone_.push_back(screen_.front());
        screen_.erase(screen_.begin());
        row_ -= row_ ? 1 : 0;
    }
    screen_.resize(rows_);
    column_ = std::min(column_, columns_ - 1);
}

std::string Emulator::line(size_t number) const {
    const Line& line = number < gone_.size() ? gone_[number] : screen_[number - gone_.size()];
    std::string out;
    for (const char32_t c : line) add_utf8(out, c);
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
}

std::string Emulator::text() const {
    std::string out;
    for (size_t i = 0; i < lines(); i++) out += line(i) + "\n";
    while (out.ends_with("\n\n")) out.pop_back();
    return out;
}

Emulator::Line& Emulator::here() {
    Line& line = screen_[row_];
    if (line.size() <= column_) line.resize(column_ + 1, U' ');
    return line;
}

void Emulator::new_line() {
    if (row_ + 1 < rows_) {
        row_++;
        return;
    }
    gone_.push_back(std::move(screen_.front()));
    screen_.erase(screen_.begin());
    screen_.emplace_back();
}

// A character in the last column leaves the cursor behind it; the next one goes to the next line.
void Emulator::put(char32_t c) {
    if (column_ >= columns_) {
        column_ = 0;
        new_line();
    }
    Line& line = here();
    if (insert_) line.insert(column_, 1, U' ');
    line[column_++] = c;
    if (line.size() > columns_) line.resize(columns_);
}

void Emulator::control(char32_t c) {
    switch (c) {
        case '\n': new_line(); break;
        case '\r': column_ = 0; break;
        case '\b': column_ = std::min(column_, columns_ - 1), column_ -= column_ ? 1 : 0; break;
        case '\t': column_ = std::min(column_ / 8 * 8 + 8, columns_ - 1); break;
        case 0x1b: pending_ = "\033"; break;
        default: break;
    }
}

size_t Emulator::number(size_t index, size_t otherwise) const {
    size_t at = pending_.find_first_of("0123456789;");
    for (; at != pending_.npos && index; index--) {
        at = pending_.find(';', at);
        if (at != pending_.npos) at++;
    }
    const int value = at == pending_.npos ? 0 : std::atoi(pending_.c_str() + at);
    return value ? static_cast<size_t>(value) : otherwise;
}

void Emulator::sequence(char final) {
    const size_t n = number(0, 1);
    const size_t column = std::min(column_, columns_ - 1);
    Line& line = screen_[row_];
    switch (final) {
        case 'A': row_ -= std::min(row_, n); break;
        case 'B': row_ = std::min(row_ + n, rows_ - 1); break;
        case 'C': column_ = std::min(column + n, columns_ - 1); break;
        case 'D': column_ = column - std::min(column, n); break;
        case 'G': column_ = std::min(n, columns_) - 1; break;
        case 'd': row_ = std::min(n, rows_) - 1; break;
        case 'H': row_ = std::min(n, rows_) - 1, column_ = std::min(number(1, 1), columns_) - 1; break;
        case 'J':
            if (number(0, 0) == 2)
                for (Line& one : screen_) one.clear();
            else
                for (size_t i = row_ + 1; i < rows_; i++) screen_[i].clear();
            [[fallthrough]];
        case 'K':
            if (line.size() > column) line.resize(column);
            break;
        case 'P':
            if (line.size() > column) line.erase(column, n);
            break;
        case '@':
            if (line.size() > column) line.insert(column, n, U' ');
            if (line.size() > columns_) line.resize(columns_);
            break;
        case 'X':
            for (size_t i = column; i < line.size() && i < column + n; i++) line[i] = U' ';
            break;
        case 'h':
        case 'l':
            if (pending_ == "\033[4") insert_ = final == 'h';
            break;
        default: break;
    }
}

void Emulator::feed(std::string_view bytes) {
    for (const char byte : bytes) {
        const auto c = static_cast<unsigned char>(byte);
        if (!pending_.empty()) {
            if (pending_ == "\033" && (c == '[' || c == '(')) {
                pending_ += byte;
            } else if (pending_.starts_with("\033[") && (c < 0x40 || c > 0x7e)) {
                pending_ += byte;
            } else {
                if (pending_.starts_with("\033[")) sequence(byte);
                pending_.clear();
            }
        } else if (more_ && (c & 0xc0) == 0x80) {
            partial_ = partial_ << 6 | (c & 0x3f);
            if (--more_ == 0) put(partial_);
        } else if (c >= 0xc0) {
            more_ = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
            partial_ = c & (0x3f >> more_);
        } else if (c < 0x20 || c == 0x7f) {
            control(c);
        } else {
            put(c);
        }
    }
}
