// SPDX-License-Identifier: MIT
// Run: one run of a script by the command. What is the command's alone is here: where text goes and in which format,
// signals, the program of -c, time limits, the account at the end, the exit status.
#pragma once

#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "command/child.hpp"
#include "command/loop.hpp"
#include "command/options.hpp"
#include "command/progress.hpp"
#include "output/format.hpp"
#include "output/sink.hpp"
#include "session/session.hpp"

namespace kpl {

class Run : public Client {
  public:
    // Runs a script to its end. The exit status is the script's; errors are for the caller to print.
    static Result<int> script(const RunOptions& options);

    bool print(std::string_view text) override;
    bool prints_directly() const override { return true; }
    // Not the script's: also what -d shows of one that is refused.
    bool show(std::string_view text) override { return sink_.begin() && sink_.write(text); }
    std::string map_output(const MapDecl& map, std::vector<KeyedValue> rows) override;
    std::optional<std::string> map_output(const MapDecl& map, std::vector<MapEntry> entries) override;
    Medium medium() const override;
    void note(Note kind, const std::string& line) override;
    void lost(uint64_t events) override;
    void ring_grown(uint32_t cpu, uint32_t bytes) override { show(options_.format->ring_grown(cpu, bytes)); }
    void overloaded(const std::string& place, const Overload& overload) override;
    bool attaching(const Device& device) override;
    void attached() override { progress_.reset(); }

  protected:  // of a run with a prompt
    Run(const RunOptions& options, Sink sink)
        : options_(options), color_(uses_color(options.color, STDERR_FILENO)), sink_(std::move(sink)) {}

    // Where options.output leads, which must not be the script.
    static Result<Sink> open_output(const RunOptions& options, Stdout usual = Stdout::Waits);
    Result<void> finish();
    void on_signal(int signal);
    std::string formatted(const MapDecl& map, std::vector<KeyedValue> rows) const;
    bool wants_more() const { return !failure_ && !sink_.broken(); }
    bool done() const { return !wants_more() || ended_ || session_->ended(); }

    const RunOptions& options_;
    const bool color_;  // of messages
    Sink sink_;
    std::unique_ptr<Session> session_;
    std::optional<Error> failure_;
    bool ended_ = false;    // a signal, the end of -c's program, the time limit
    bool running_ = false;  // armed, and not yet at the end
    bool lost_ = false;

  private:
    Result<int> main();
    Result<void> declare();
    Result<int> list();  // list.cpp
    Result<void> events();
    Result<void> turns();
    Result<void> start_child();
    Result<void> print_unshown();
    Result<void> account();
    void tell_child(int status);

    std::optional<Loop> loop_;  // from the end of the main chunk on: until then signals act as in any program
    std::optional<Child> child_;
    std::optional<Progress> progress_;
    std::optional<Error> not_run_;  // -c's command
};

}  // namespace kpl
