// SPDX-License-Identifier: MIT
#include "command/run.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>

#include "command/account.hpp"
#include "inspect/knobs.hpp"
#include "output/color.hpp"
#include "output/format.hpp"

namespace kpl {

Result<int> Run::script(const RunOptions& options) {
    Sink sink = TRY(open_output(options));
    Run run(options, std::move(sink));
    return run.main();
}

Result<Sink> Run::open_output(const RunOptions& options, Stdout usual) {
    const std::string script = options.script == "-" ? "/dev/stdin" : options.script;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(options.output, ignored) &&
        std::filesystem::equivalent(options.output, script, ignored))
        return Error{Errc::usage, fmt::format("-o {}: that is the script itself: name another file", options.output)};
    return Sink::open(options.output, options.buffering, usual);
}

Result<int> Run::main() {
    if (options_.pid && !options_.check && ::kill(static_cast<pid_t>(*options_.pid), 0) != 0 && errno == ESRCH)
        return Error{Errc::system, fmt::format("no process {}", *options_.pid)};
    session_ = TRY(Session::open(options_, *this));
    TRY(declare());
    if (options_.list) return list();
    loop_.emplace(TRY(Loop::create()));
    if (!session_->exit_code()) {
        // Asked before anything is armed: a script that traces opens does not see it.
        const std::string silent = options_.check || options_.dry_run ? "" : silencing_knobs();
        TRY(session_->arm());
        sink_.begin();
        sink_.flush();
        if (options_.check) {
            TRY(sink_.end());
            return 0;
        }
        running_ = true;
        sink_.write(options_.format->attached(session_->probes()));
        if (session_->probes() && !silent.empty()) note(Note::Warning, "warning: " + silent);
        if (!session_->ended() && !options_.dry_run) TRY(events());
    }
    TRY(finish());
    if (failure_ && not_run_) note(Note::Warning, not_run_->message());
    if (failure_) return *failure_;
    if (not_run_) return *not_run_;
    if (session_->exit_code()) return *session_->exit_code();
    return options_.strict && lost_ ? 1 : 0;
}

Result<void> Run::declare() {
    for (const std::string& module : options_.modules) TRY(session_->require_module(module));
    if (options_.code) return session_->run_string(*options_.code, "=-e", options_.args);
    return session_->run_file(options_.script, options_.args);
}

void Run::on_signal(int signal) {
    if (signal != SIGUSR1) {
        ended_ = true;
        return;
    }
    for (uint32_t i = 0; i < session_->declared().unit().maps.size();
         i++)  // a look on the way is not the print at the end
        if (auto rows = session_->look(i)) show(formatted(session_->map(i), std::move(*rows)));
    sink_.flush();
}

Result<void> Run::start_child() {
    if (!options_.command) return {};
    constexpr uint32_t longest_ms = 250;
    session_->await_rings(longest_ms);
    child_.emplace(TRY(Child::start(*options_.command)));
    loop_->watch(child_->fd(), [this] {
        const auto status = child_->poll();
        if (!status) return;
        loop_->unwatch(child_->fd());
        tell_child(*status);
        ended_ = true;
    });
    return {};
}

// The run's own exit status stays what it is; but what was not found has not run.
void Run::tell_child(int status) {
    const std::string how = command_end(status);
    if (how.empty()) return;
    const int code = shell_status(status);
    sink_.write(options_.format->command(code));
    if (code == 126 || code == 127)
        not_run_ =
            Error{Errc::system, fmt::format("-c {}: not found, or it can't be run ({})", *options_.command, how)};
    else if (!options_.quiet)
        note(Note::Info, "the command " + how);
}

// What there is no memory for ends the run as an error of the script's does: what was gathered is told.
Result<void> Run::events() {
    try {
        return turns();
    } catch (const std::bad_alloc&) {
        failure_ = Error{Errc::system, "not enough memory"};
        return {};
    }
}

// Until the script exits, a signal comes, the command ends or the time is over.
Result<void> Run::turns() {
    constexpr double longest = 3e9;  // a century: what is longer never comes
    const bool waits = !session_->idle() || options_.command || options_.timeout;
    const uint64_t began = monotonic_ns();
    std::optional<uint64_t> limit;
    if (options_.timeout) limit = static_cast<uint64_t>(std::min(*options_.timeout, longest) * 1e9);
    loop_->on_signal([this](int signal) { on_signal(signal); });
    ended_ |= Loop::end_asked();  // while probes were armed
    if (!ended_) TRY(start_child());
    while (waits && !done()) {
        auto wait = session_->turn();
        if (!wait) {
            failure_ = wait.error();
            break;
        }
        sink_.flush();
        if (done()) break;
        const uint64_t passed = monotonic_ns() - began;
        const uint64_t left = limit && *limit > passed ? *limit - passed : 0;
        if (limit && (!*wait || left < **wait)) *wait = left;
        TRY(loop_->wait(*wait, session_->device_fd()));
        if (limit && monotonic_ns() - began >= *limit) ended_ = true;
    }
    return {};
}

Result<void> Run::finish() {
    running_ = false;
    if (auto stopped = session_->stop(!sink_.broken() && (!failure_ || session_->dead())); !stopped) {
        if (failure_) note(Note::Warning, failure_->message());
        failure_ = stopped.error();  // told last, as it came
    }
    if (session_->device_fd() >= 0) {
        TRY(print_unshown());
        TRY(session_->report(true));
        TRY(account());
    }
    const auto written = sink_.end();
    child_.reset();
    if (!written && !failure_) failure_ = written.error();
    return {};
}

Result<void> Run::print_unshown() {
    for (uint32_t i = 0; i < session_->declared().unit().maps.size(); i++)
        if (session_->is_unshown(i)) sink_.write(formatted(session_->map(i), TRY(session_->look(i))));
    return {};
}

Result<void> Run::account() {
    const char* left_by = sink_.broken() ? nullptr : failure_ ? "the error" : "exit()";
    const AccountText text = account_text(TRY(session_->account()), options_.verbose, left_by);
    for (const std::string& line : text.lines) note(Note::Info, line);
    lost_ |= text.lost;
    return {};
}

// ---- Client
bool Run::print(std::string_view text) { return sink_.write(options_.format->printed(text)); }

Medium Run::medium() const {
    Medium medium;
    for (const FormatRow& row : formats())
        if (&row.format == options_.format) medium.format = row.name;
    if (options_.list || options_.check) medium.format.clear();  // nothing runs
    winsize window{};
    const bool shown = options_.output.empty() && !options_.prompt;  // a prompt has the terminal's lines
    if (shown && ::isatty(STDOUT_FILENO) && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0) {
        medium.rows = window.ws_row ? window.ws_row : 24;  // a serial line does not know its size
        medium.columns = window.ws_col ? window.ws_col : 80;
    }
    return medium;
}

// To stderr, after what the script wrote.
void Run::note(Note, const std::string& line) {
    sink_.flush();
    std::fprintf(stderr, "%s\n", (color_ ? painted(line) : line).c_str());
}

void Run::overloaded(const std::string& place, const Overload& overload) {
    lost_ = true;
    show(options_.format->overload({place, overload.cpu, overload.percent, options_.cpu_share, overload.hits}));
}

void Run::lost(uint64_t events) {
    show(options_.format->lost(events));
    if (!running_) return;
    note(Note::Warning, fmt::format("{} events lost: a ring was full; --buffer {}K makes them twice as large", events,
                                    session_->largest_ring() >> 9));
}

bool Run::attaching(const Device& device) {
    if (Loop::end_asked()) return false;
    progress_.emplace(device, options_.verbose);
    return true;
}

// Nothing, when nothing was ever added.
std::string Run::formatted(const MapDecl& map, std::vector<KeyedValue> rows) const {
    if (rows.empty() || (!map.keyed && untouched(rows[0].value))) return {};
    sort_rows(map, rows);
    return options_.format->map(map, rows);
}

std::string Run::map_output(const MapDecl& map, std::vector<KeyedValue> rows) {
    return options_.format->as_tostring() ? Client::map_output(map, std::move(rows)) : formatted(map, std::move(rows));
}

std::optional<std::string> Run::map_output(const MapDecl& map, std::vector<MapEntry> entries) {
    std::vector<Entry> all;
    for (MapEntry& entry : entries) all.emplace_back(std::move(entry.key), std::move(entry.value));
    return options_.format->entries(map, all);
}

}  // namespace kpl
