// SPDX-License-Identifier: MIT
#include "repl/screen.hpp"

#include <fmt/format.h>

#include <utility>

#include "repl/layout.hpp"

namespace kpl {
namespace {

constexpr uint64_t second = 1'000'000'000;
constexpr size_t most_messages = 10;
constexpr size_t longest_line = 4096;  // what is longer is cut where it is shown

// 1234567 as "1,234,567".
std::string grouped(uint64_t n) {
    std::string text = std::to_string(n);
    for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
    return text;
}

}  // namespace

void Screen::add(std::string_view text, uint64_t now) {
    if (!began_) began_ = now;
    while (!text.empty()) {
        const size_t end = text.find('\n');
        const std::string_view part = text.substr(0, end);
        if (partial_.size() < longest_line) partial_.append(part.substr(0, longest_line - partial_.size()));
        if (end == text.npos) return;
        add_line(std::exchange(partial_, {}));
        text.remove_prefix(end + 1);
    }
}

void Screen::add_message(std::string_view line, uint64_t now) {
    if (!began_) began_ = now;
    if (messages_++ < most_messages)
        ready_ += harmless(line) + "\n";
    else
        lines_++, left_++;
}

void Screen::add_line(std::string_view line) {
    if (paused_) {
        held_.emplace_back(line);
        if (held_.size() <= room()) return;
        held_.pop_front();
        held_left_++;
        return;
    }
    lines_++;
    if (used_ >= room()) {
        left_++;
        return;
    }
    const std::string shown = harmless(line);
    used_ += rows_of(shown, columns_);
    ready_ += shown + "\n";
}

// Text without an end of its line waits no longer than to here.
void Screen::close_window(uint64_t now) {
    if (!partial_.empty()) add_line(std::exchange(partial_, {}));
    if (left_) {
        const auto rate = static_cast<uint64_t>(static_cast<double>(lines_) * 1e9 / static_cast<double>(now - began_));
        ready_ +=
            fmt::format("-- {} lines/s, {} left out ({}, pause() holds)\n", grouped(rate), grouped(left_), keeps_);
    }
    began_ = 0;
    used_ = messages_ = 0;
    lines_ = left_ = 0;
}

std::string Screen::take(uint64_t now) {
    if (began_ && now - began_ >= second) close_window(now);
    return std::exchange(ready_, {});
}

std::optional<uint64_t> Screen::due(uint64_t now) const {
    if (!ready_.empty()) return 0;
    if (!began_) return std::nullopt;
    const uint64_t end = began_ + second;
    return end > now ? end - now : 0;
}

void Screen::resume() {
    paused_ = false;
    if (held_left_)
        ready_ += fmt::format("-- {} lines came while paused, {} left out\n", grouped(held_left_ + held_.size()),
                              grouped(held_left_));
    for (const std::string& line : held_) ready_ += harmless(line) + "\n";
    held_.clear();
    held_left_ = 0;
}

}  // namespace kpl
