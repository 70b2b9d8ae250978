// SPDX-License-Identifier: MIT
#include "programs/jit_map.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "base/regular_file.hpp"
#include "programs/memory_map.hpp"

namespace kpl {
namespace {

constexpr size_t longest_file = 64 << 20, longest_line = 64 << 10;
constexpr size_t most_bytes = 128 << 20;  // of what was read: a short line takes more than it has
constexpr int rest = 20;                  // times as long as a look took, before the next one

// The number that the process knows itself by: the last of "NSpid:\t812\t7".
std::string own_number(ForeignFiles& files, uint32_t pid) {
    const std::string text = files.read({fmt::format("/proc/{}/status", pid)}).of[0];
    const size_t line = text.find("\nNSpid:");
    if (line == text.npos) return std::to_string(pid);
    const size_t end = std::min(text.find('\n', line + 1), text.size());
    const size_t last = text.find_last_of("\t ", end - 1);
    return text.substr(last + 1, end - last - 1);
}

// Written by the process itself or by root, nobody else: a name there is worth what its writer is.
UniqueFd open_map(ForeignFiles& files, uint32_t pid, std::optional<uid_t> owner) {
    const auto door = [&](std::string path) {
        return ForeignFiles::Door{.path = std::move(path), .follows = false, .owned = true, .owner = owner};
    };
    auto found = files.find({door(fmt::format("/proc/{}/root/tmp/perf-{}.map", pid, own_number(files, pid))),
                             door(fmt::format("/tmp/perf-{}.map", pid))},
                            ForeignFiles::Wants::Contents);
    return std::move(found.file);
}

bool number(std::string_view& line, uint64_t& into) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.starts_with("0x")) line.remove_prefix(2);
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), into, 16);
    if (error != std::errc()) return false;
    line.remove_prefix(static_cast<size_t>(end - line.data()));
    return true;
}

}  // namespace

void JitMap::read(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = text.substr(at, end - at);
        at = end + 1;
        Code code{};
        if (!number(line, code.start) || !number(line, code.size)) continue;
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        code.name = line;
        if (!code.size || code.name.empty()) continue;
        if (bytes_ > most_bytes) break;
        bytes_ += sizeof code + code.name.size();
        code_.push_back(std::move(code));
    }
    std::stable_sort(code_.begin(), code_.end(), [](const Code& a, const Code& b) { return a.start < b.start; });
}

std::string JitMap::at(uint64_t address) const {
    auto after = std::upper_bound(code_.begin(), code_.end(), address,
                                  [](uint64_t value, const Code& code) { return value < code.start; });
    if (after == code_.begin()) return "";
    const Code& code = *std::prev(after);
    if (address - code.start >= code.size) return "";
    return address == code.start ? code.name : fmt::format("{}+{:#x}", code.name, address - code.start);
}

void JitMap::refresh(int fd) {
    struct stat file {};
    if (::fstat(fd, &file) != 0) return;
    const auto size = std::min<uint64_t>(static_cast<uint64_t>(file.st_size), longest_file);
    if (size == looked_at_) return;
    if (size < seen_bytes_) forget();
    looked_at_ = size;
    std::string text(size - seen_bytes_, '\0');
    const ssize_t n = ::pread(fd, text.data(), text.size(), static_cast<off_t>(seen_bytes_));
    text.resize(n > 0 ? static_cast<size_t>(n) : 0);
    const size_t lines = text.rfind('\n') + 1;  // the last one may be under way
    if (text.size() - lines < longest_line) text.resize(lines);
    seen_bytes_ += text.size();
    read(text);
}

void JitMap::forget() {
    code_ = {};
    seen_bytes_ = looked_at_ = bytes_ = 0;
}

// A process may change its file at each event.
bool JitMap::look(ForeignFiles& files, uint32_t pid, std::optional<uid_t> owner) {
    const auto now = Clock::now();
    if (now < next_look_) return false;
    if (const UniqueFd fd = open_map(files, pid, owner)) refresh(fd.get());
    const auto end = Clock::now();
    next_look_ = end + rest * (end - now);
    return true;
}

}  // namespace kpl
