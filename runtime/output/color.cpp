// SPDX-License-Identifier: MIT
#include "output/color.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>

namespace kpl {
namespace {

constexpr const char* plain = "\033[0m";
constexpr const char* red = "\033[31m";
constexpr std::pair<std::string_view, const char*> words[] = {{"warning:", "\033[33m"}, {"note:", "\033[36m"}};

}  // namespace

bool uses_color(Color wanted, int fd) {
    if (wanted != Color::Auto) return wanted == Color::Always;
    const char *never = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
    if (never && *never) return false;
    return ::isatty(fd) && terminal && std::string_view(terminal) != "dumb";
}

std::string painted(const std::string& message) {
    for (const auto& [word, color] : words)
        if (message.starts_with(word)) return color + std::string(word) + plain + message.substr(word.size());
    return message;
}

std::string painted_error(const std::string& message) {
    const size_t end = message.find('\n');
    return red + message.substr(0, end) + plain + (end == message.npos ? "" : message.substr(end));
}

}  // namespace kpl
