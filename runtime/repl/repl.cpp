// SPDX-License-Identifier: MIT
#include "repl/repl.hpp"

#include <fmt/format.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <string_view>

#include "output/color.hpp"

namespace kpl {
namespace {

constexpr uint64_t longest_turn = 5'000'000;  // ns of delivery, before a key has its turn
constexpr uint64_t patience = 500'000'000;    // ns after which ^C is meant for a callback, not for the line

std::string keeps(const RunOptions& options) {
    return options.output.empty() ? "-o FILE keeps all" : "all is in " + options.output;
}

bool is_readable(int fd) {
    pollfd ready{fd, POLLIN, 0};
    return ::poll(&ready, 1, 0) > 0;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\n") == text.npos; }

bool begins_with_local(std::string_view input) {
    input.remove_prefix(std::min(input.find_first_not_of(" \t\n"), input.size()));
    return input.starts_with("local ");
}

}  // namespace

Repl::Repl(const RunOptions& options, Sink sink) : Run(options, std::move(sink)), screen_(keeps(options)) {}

Result<int> Repl::prompt(const RunOptions& options) {
    Sink sink = TRY(open_output(options, Stdout::Usual));
    Repl repl(options, std::move(sink));
    return repl.main();
}

Result<int> Repl::main() {
    std::setlocale(LC_CTYPE, "");
    if (std::string_view(::nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
    session_ = TRY(Session::open(options_, *this));
    TRY(session_->host().open_prompt(*this));
    signals_ = TRY(Signals::take(session_->host()));
    help_.emplace(session_->host(), session_->kernel());
    completer_.emplace(session_->host(), session_->kernel());
    editor_ = TRY(Editor::open(
        {.wait = [this] { return wait(); },
         .complete = [this](std::string_view text) { return completer_->complete(unfinished_ + std::string(text)); },
         .hint = [this](std::string_view text) { return completer_->hint(unfinished_ + std::string(text)); }},
        color_));
    auto entries = history_.load();
    if (entries)
        for (const std::string& entry : *entries) editor_->remember(entry);
    else
        say("note: " + entries.error().message());
    screen_.resize(editor_->rows(), editor_->columns());
    running_ = true;
    sink_.begin();
    run_script();
    read_inputs();
    editor_.reset();
    {
        const Signals::Running running(*signals_, 0);
        TRY(finish());
    }
    signals_.reset();
    if (failure_) return *failure_;
    if (session_->exit_code()) return *session_->exit_code();
    return options_.strict && lost_ ? 1 : 0;
}

// ---- inputs
void Repl::run_script() {
    const Signals::Running running(*signals_, 0);
    for (const std::string& module : options_.modules) tell(session_->require_module(module));
    Result<void> ran;
    if (options_.code)
        ran = session_->run_string(*options_.code, "=-e", options_.args);
    else if (!options_.script.empty())
        ran = session_->run_file(options_.script, options_.args);
    if (ran && !done()) ran = session_->arm();
    tell(ran);
}

void Repl::read_inputs() {
    while (!done() && !signals_->ended()) {
        const auto input = read_input();
        if (!input) return;
        if (is_blank(*input)) continue;
        remember(*input);
        run_input(*input);
        number_++;
    }
}

// Lines until they are whole. Nothing: there will be no more.
std::optional<std::string> Repl::read_input() {
    for (unfinished_.clear();;) {
        if (!at_line_start_) dialogue("\n");
        const auto line = editor_->read(fmt::format("{}{} ", number_, unfinished_.empty() ? ">" : ">>"));
        if (line.kind == Editor::Kind::End) return std::nullopt;
        if (line.kind == Editor::Kind::Interrupted) return "";
        const std::string input = unfinished_ + line.text;
        if (is_blank(input) || input.starts_with('?') || !session_->host().is_unfinished(input)) return input;
        unfinished_ = input + "\n";
    }
}

void Repl::remember(const std::string& input) {
    editor_->remember(input);
    auto kept = history_.add(input);
    if (!kept && !std::exchange(told_of_history_, true)) say("note: " + kept.error().message());
}

// All or none of what it declares is armed.
Result<void> Repl::run_chunk(const std::string& input) {
    if (signals_->interrupted()) return Error{Errc::script, "interrupted"};  // between its Enter and here
    const size_t asked = session_->asked(), first = declared();
    auto ran = session_->run_input(input, fmt::format("input {}", number_));
    if (ran && !session_->ended()) ran = session_->arm();
    if (ran && (session_->asked() != asked || !session_->host().is_expression(input)))
        saved_.add({input, first, declared() - first, session_->host().reads_global(input, Saved::names_of_prompt())});
    return ran;
}

void Repl::run_input(const std::string& input) {
    if (begins_with_local(input) && !std::exchange(told_of_locals_, true))
        note(Note::Info, "note: a local is gone after its input; without `local`, a name stays");
    if (input.starts_with('?')) {
        const size_t from = std::min(input.find_first_not_of(" \t", 1), input.size()),
                     to = input.find_last_not_of(" \t");
        return dialogue(
            help_->about(from < input.size() ? input.substr(from, to + 1 - from) : "", editor_->columns() - 1) + "\n");
    }
    std::optional<Signals::Running> running(std::in_place, *signals_, 0);
    const auto ran = run_chunk(input);
    std::fflush(stdout);  // what Lua's io library has written
    bool stopped = running->stopped();
    if (!ran) running.reset();  // what it declared is taken back, whole
    auto shown = session_->host().input_done(ran.ok());
    if (running) stopped = running->stopped();
    running.reset();
    if (stopped) dialogue("\n");  // behind the terminal's own ^C
    tell(ran);
    if (!shown) return tell(shown.error());
    if (!shown->empty()) dialogue(harmless(*shown) + "\n");
}

void Repl::tell(const Result<void>& done) {
    if (done) return;
    const std::string message = done.error().message();
    say(color_ ? painted_error(message) : message);
}

// ---- while a line is typed
std::optional<Editor::Wake> Repl::heed_signals() {
    signals_->clear();
    if (signals_->ended() || done()) return Editor::Wake::End;
    if (signals_->interrupted()) return Editor::Wake::Interrupt;
    if (signals_->print_asked()) on_signal(SIGUSR1);
    if (signals_->stopped()) {
        editor_->stop();
        return Editor::Wake::Redraw;
    }
    if (signals_->resized()) {
        editor_->measure();
        screen_.resize(editor_->rows(), editor_->columns());
        return Editor::Wake::Redraw;
    }
    return std::nullopt;
}

// For how long the next turn may wait.
std::optional<uint64_t> Repl::turn() {
    live_ = true;
    const Signals::Running running(*signals_, patience);
    auto wait = session_->turn(longest_turn);
    if (!wait) {
        tell(wait.error());
        wait = std::optional<uint64_t>(0);
    }
    sink_.flush();
    live_ = false;
    return *wait;
}

// Until there is a key, or another reason to look at the line; the session goes on meanwhile. Keys come first.
Editor::Wake Repl::wait() {
    for (;;) {
        if (const auto wake = heed_signals()) return *wake;
        if (is_readable(STDIN_FILENO)) return Editor::Wake::Key;
        std::optional<uint64_t> limit = turn();
        const uint64_t now = monotonic_ns();
        editor_->above(screen_.take(now));
        if (const auto due = screen_.due(now); due && (!limit || *due < *limit)) limit = due;
        timespec ts{};
        if (limit) ts = {static_cast<time_t>(*limit / 1000000000u), static_cast<long>(*limit % 1000000000u)};
        pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {signals_->fd(), POLLIN, 0}, {session_->device_fd(), POLLIN, 0}};
        if (::ppoll(fds, std::size(fds), limit ? &ts : nullptr, nullptr) < 0 && errno != EINTR)
            return Editor::Wake::End;
    }
}

// ---- output
void Repl::dialogue(std::string_view text) {
    if (text.empty()) return;
    at_line_start_ = text.ends_with('\n');
    if (editor_) return editor_->above(text);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

void Repl::say(const std::string& message) {
    if (live_)
        screen_.add_message(message, monotonic_ns());
    else
        dialogue(harmless(message) + "\n");
}

bool Repl::out(std::string_view text) {
    if (!options_.output.empty() && !sink_.write(text)) return false;
    if (!editor_) return options_.output.empty() ? sink_.write(text) : true;
    if (live_)
        screen_.add(text, monotonic_ns());
    else
        dialogue(harmless(text));
    return true;
}

void Repl::note(Note kind, const std::string& line) {
    if (!editor_) return Run::note(kind, line);
    say(color_ ? painted(line) : line);
}

bool Repl::attaching(const Device& device) {
    if (signals_->ended() || signals_->interrupted()) return false;
    return live_ || Run::attaching(device);
}

}  // namespace kpl
