// SPDX-License-Identifier: MIT
// Events in tracefs: a group of our own, so that nothing of others is touched.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/unique_fd.hpp"
#include "inspect/debugfs.hpp"
#include "session/trace_events.hpp"

namespace kpl {
namespace {

Result<std::string> tracefs(const std::string& dir) {
    const std::string found = find_tracefs(dir, "/kprobe_events");
    std::error_code error;
    if (std::filesystem::exists(found + "/kprobe_events", error)) return found;
    return Error{Errc::system, "no kprobe_events: mount -t tracefs tracefs /sys/kernel/tracing, as root"};
}

// The kernel takes a whole line from one write, and says in its answer whether it did.
Result<void> put(const std::string& path, const std::string& text, int flags) {
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | flags | O_CLOEXEC));
    if (fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
    return Error{Errc::system, fmt::format("{}: '{}': {}", path, text, std::strerror(errno))};
}

std::string last_error(const std::string& dir) {
    std::ifstream in(dir + "/error_log");
    std::string line, last;
    while (std::getline(in, line))
        if (line.find("error:") != line.npos) last = line.substr(line.find("error:") + 7);
    return last.empty() ? "" : " (" + last + ")";
}

}  // namespace

Result<size_t> remove_trace_events(const std::string& given) {
    const std::string dir = TRY(tracefs(given)), group = dir + "/events/" + trace_group;
    std::error_code error;
    size_t count = 0;
    if (!std::filesystem::exists(group, error)) return count;
    TRY(put(group + "/enable", "0", 0));
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(group, error))
        if (entry.is_directory()) names.push_back(entry.path().filename());
    for (const std::string& name : names) {
        TRY(put(dir + "/kprobe_events", fmt::format("-:{}/{}", trace_group, name), O_APPEND));
        count++;
    }
    return count;
}

// All or none.
Result<void> install(const std::vector<TraceEvent>& events, const std::string& given) {
    const std::string dir = TRY(tracefs(given));
    std::error_code error;
    if (std::filesystem::exists(dir + "/events/" + trace_group, error))
        return Error{
            Errc::system,
            fmt::format("the group {} is there already: kprobe-lua events --remove takes it away", trace_group)};
    for (const TraceEvent& event : events) {
        if (event.definition.empty()) continue;
        const std::string own = fmt::format("{}/events/{}/{}", dir, trace_group, event.name);
        auto done = put(dir + "/kprobe_events", event.definition, O_APPEND);
        if (!done) done = Error{done.error().code, done.error().text + last_error(dir)};
        if (done && !event.filter.empty()) done = put(own + "/filter", event.filter, O_TRUNC);
        if (done && event.enabled) done = put(own + "/enable", "1", O_TRUNC);
        if (done) continue;
        (void)remove_trace_events(given).ok();
        return done;
    }
    return {};
}

}  // namespace kpl
