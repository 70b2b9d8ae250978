// SPDX-License-Identifier: MIT
#include "inspect/debugfs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>

#include "base/unique_fd.hpp"

namespace kpl {
namespace {

Result<std::string> read_all(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return Error{Errc::system, std::strerror(errno)};
    std::string text;
    char buffer[65536];
    for (;;) {
        const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return Error{Errc::system, std::strerror(errno)};
        if (n == 0) return text;
        text.append(buffer, static_cast<size_t>(n));
    }
}

// What is missing when a file of debugfs or tracefs can't be read.
Error unreadable(const std::string& path, const char* system, const char* mount_point) {
    if (::geteuid() != 0) return {Errc::system, path + ": only root may read it: sudo kprobe-lua …"};
    if (::access(path.c_str(), F_OK) == 0)
        return {Errc::system, path + ": cannot be read; is the kernel locked down? see kprobe-lua doctor"};
    return {Errc::system, fmt::format("{}: not there; mount -t {} {} {}", path, system, system, mount_point)};
}

template <class T>
Result<std::vector<T>> parse_lines(const std::string& text, std::optional<T> (*parse)(std::string_view)) {
    std::vector<T> out;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        if (auto one = parse(std::string_view(text).substr(begin, end - begin))) out.push_back(std::move(*one));
        begin = end + 1;
    }
    return out;
}

std::optional<uint64_t> hex(std::string_view text) {
    if (text.starts_with("0x")) text.remove_prefix(2);
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// The next word, and what is behind it stays in `text`.
std::string_view word(std::string_view& text) {
    const size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return text = {};
    const size_t end = std::min(text.find_first_of(" \t", begin), text.size());
    const std::string_view found = text.substr(begin, end - begin);
    text.remove_prefix(end);
    return found;
}

}  // namespace

std::string find_tracefs(const std::string& dir, const std::string& file) {
    const std::string usual = "/sys/kernel/tracing", by_debugfs = "/sys/kernel/debug/tracing";
    if (!dir.empty()) return dir;
    return ::access((usual + file).c_str(), R_OK) != 0 && ::access((by_debugfs + file).c_str(), R_OK) == 0 ? by_debugfs
                                                                                                           : usual;
}

Result<std::string> read_tracefs(const std::string& dir, const std::string& file) {
    const std::string path = find_tracefs(dir, file) + file;
    if (auto text = read_all(path)) return text;
    return unreadable(path, "tracefs", "/sys/kernel/tracing");
}

std::optional<ListedProbe> parse_probe_line(std::string_view line) {
    const auto addr = hex(word(line));
    const std::string_view kind = word(line);
    if (!addr || (kind != "k" && kind != "r")) return std::nullopt;
    ListedProbe probe{*addr, kind == "r", std::string(word(line)), {}};
    for (std::string_view part = word(line); !part.empty(); part = word(line)) {
        if (!part.starts_with('[')) probe.module = part;
        // Several flags follow one another without a blank.
        probe.gone |= part.find("[GONE]") != part.npos;
        probe.disabled |= part.find("[DISABLED]") != part.npos;
        probe.optimized |= part.find("[OPTIMIZED]") != part.npos;
        probe.ftrace |= part.find("[FTRACE]") != part.npos;
    }
    return probe;
}

namespace {

// "kpl_hit+0x0/0x1b0 [kprobe_lua]"
void read_function(std::string_view text, std::string& function, std::string& module) {
    function = text.substr(0, text.find_first_of("+ \t"));
    const size_t open = text.find('['), close = text.find(']');
    if (open != text.npos && close != text.npos && open < close) module = text.substr(open + 1, close - open - 1);
}

}  // namespace

bool parse_direct_line(std::string_view line, TracedFunction& traced) {
    constexpr std::string_view mark = "direct-->";
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == line.npos || !line.substr(begin).starts_with(mark)) return false;
    read_function(line.substr(begin + mark.size()), traced.direct, traced.direct_module);
    return true;
}

std::optional<TracedFunction> parse_traced_line(std::string_view line) {
    TracedFunction traced;
    traced.name = word(line);
    std::string_view users = word(line);
    if (users.starts_with('[') && users.ends_with(']')) {
        traced.module = users.substr(1, users.size() - 2);
        users = word(line);
    }
    if (!users.starts_with('(') ||
        std::from_chars(users.data() + 1, users.data() + users.size(), traced.users).ec != std::errc())
        return std::nullopt;
    const size_t arrow = line.rfind("->");
    if (arrow == line.npos || traced.users != 1) return traced;
    read_function(line.substr(arrow + 2), traced.callback, traced.callback_module);
    return traced;
}

Result<std::vector<ListedProbe>> read_probe_list(const std::string& dir) {
    const std::string path = dir + "/list";
    const auto text = read_all(path);
    if (!text) return unreadable(path, "debugfs", "/sys/kernel/debug");
    return parse_lines(*text, parse_probe_line);
}

std::optional<bool> probes_enabled(const std::string& dir) {
    const auto text = read_all(dir + "/enabled");
    if (!text || text->empty()) return std::nullopt;
    return text->front() == '1';
}

std::optional<std::pair<std::string, std::string>> parse_event_line(std::string_view line) {
    const size_t colon = line.find(':');
    if (colon == line.npos || colon == 0 || colon + 1 == line.size()) return std::nullopt;
    return std::pair(std::string(line.substr(0, colon)), std::string(line.substr(colon + 1)));
}

Result<std::vector<TracedFunction>> read_traced(const std::string& dir) {
    const std::string text = TRY(read_tracefs(dir, "/enabled_functions"));
    std::vector<TracedFunction> all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (all.empty() || !parse_direct_line(line, all.back()))
            if (auto one = parse_traced_line(line)) all.push_back(std::move(*one));
    return all;
}

Result<std::vector<std::pair<std::string, std::string>>> read_events(const std::string& dir) {
    return parse_lines(TRY(read_tracefs(dir, "/available_events")), parse_event_line);
}

std::optional<EventField> parse_field_line(std::string_view line) {
    constexpr std::string_view mark = "field:";
    const size_t begin = line.find(mark);
    if (begin == line.npos) return std::nullopt;
    line.remove_prefix(begin + mark.size());
    line = line.substr(0, line.find(';'));
    const size_t blank = line.rfind(' ');
    if (blank == line.npos || line.substr(blank + 1).starts_with("common_")) return std::nullopt;
    return EventField{std::string(line.substr(0, blank)), std::string(line.substr(blank + 1))};
}

Result<std::vector<EventField>> read_event_fields(const std::string& event, const std::string& dir) {
    return parse_lines(TRY(read_tracefs(dir, "/events/" + event + "/format")), parse_field_line);
}

FtraceSites read_ftrace_sites(const std::string& dir) {
    constexpr std::string_view mark = "__ftrace_invalid_address___";
    FtraceSites sites;
    const auto text = read_tracefs(dir, "/available_filter_functions");
    if (!text) return sites;
    std::string last;
    // The list is in the order of addresses.
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
        std::string_view rest = line;
        const std::string_view name = word(rest), module = word(rest);
        if (!name.starts_with(mark)) {
            last = fmt::format("{}:{}", module.size() > 2 ? module.substr(1, module.size() - 2) : "", name);
            sites.functions.insert(last);
            continue;
        }
        uint64_t offset = 0;
        std::from_chars(name.data() + mark.size(), name.data() + name.size(), offset);
        if (!last.empty()) sites.nameless[last].push_back(offset);
    }
    return sites;
}

}  // namespace kpl
