// SPDX-License-Identifier: MIT
// Repl: a run whose script is typed, input by input, while what is armed goes on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command/run.hpp"
#include "luahost/prompt.hpp"
#include "repl/complete.hpp"
#include "repl/editor.hpp"
#include "repl/help.hpp"
#include "repl/history.hpp"
#include "repl/saved.hpp"
#include "repl/screen.hpp"
#include "repl/signals.hpp"

namespace kpl {

class Repl final : public Run, private PromptApi {
  public:
    // Reads from the terminal to its end. The exit status is the script's; errors are for the caller to print.
    static Result<int> prompt(const RunOptions& options);

    // Client
    bool print(std::string_view text) override { return out(options_.format->printed(text)); }
    bool show(std::string_view text) override { return out(text); }
    void note(Note kind, const std::string& line) override;
    bool attaching(const Device& device) override;
    bool goes_on() override { return true; }

  private:
    Repl(const RunOptions& options, Sink sink);
    Result<int> main();
    void read_inputs();
    std::optional<std::string> read_input();
    void run_input(const std::string& input);
    void run_script();
    void tell(const Result<void>& done);
    Result<void> run_chunk(const std::string& input);
    void remember(const std::string& input);
    Result<std::string> save(const std::string& path) const;

    Editor::Wake wait();
    std::optional<uint64_t> turn();
    std::optional<Editor::Wake> heed_signals();
    bool out(std::string_view text);
    void say(const std::string& message);
    void dialogue(std::string_view text);  // to the terminal alone, at once

    // PromptApi (requests.cpp)
    size_t declared() override { return session_->declared().probes().size(); }
    Result<Row> describe(uint32_t probe) override;
    Result<std::string> ask(const std::string& what, const std::string& of) override;

    const History history_{History::usual_path()};
    Saved saved_;
    std::optional<Help> help_;
    std::optional<Completer> completer_;
    std::string unfinished_;  // lines of the input before the one that is typed
    Screen screen_;
    std::unique_ptr<Signals> signals_;
    std::unique_ptr<Editor> editor_;
    unsigned number_ = 1;  // of the input
    bool live_ = false;    // what comes now was not asked for by an input
    bool told_of_locals_ = false, told_of_history_ = false;
    bool at_line_start_ = true;  // of what was written to the terminal
};

}  // namespace kpl
