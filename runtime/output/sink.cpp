// SPDX-License-Identifier: MIT
#include "output/sink.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

namespace kpl {

Result<Sink> Sink::open(const std::string& path) {
    if (path.empty()) return Sink(stdout, false);
    FILE* file = std::fopen(path.c_str(), "we");
    if (!file) return Error{Errc::system, path + ": " + std::strerror(errno)};
    return Sink(file, true);
}

Sink::Sink(Sink&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      owned_(other.owned_),
      broken_(other.broken_),
      failure_(std::move(other.failure_)) {}

Sink::~Sink() {
    if (file_ && owned_) std::fclose(file_);
}

bool Sink::check(bool ok) {
    if (ok) return true;
    if (!broken_ && errno != EPIPE) failure_ = std::strerror(errno);
    broken_ = true;
    return false;
}

bool Sink::write(std::string_view text) {
    if (broken_) return false;
    return check(std::fwrite(text.data(), 1, text.size(), file_) == text.size());
}

bool Sink::flush() {
    if (broken_) return false;
    return check(std::fflush(file_) == 0);
}

}  // namespace kpl
