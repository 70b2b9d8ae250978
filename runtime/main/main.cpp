// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "command/run.hpp"
#include "main/command_line.hpp"
#include "main/commands.hpp"
#include "main/tools.hpp"
#include "main/vm.hpp"
#include "output/sink.hpp"
#include "repl/repl.hpp"

namespace {

int report(const kpl::Result<int>& result, kpl::Color color) {
    if (result) return *result;
    std::fflush(stdout);
    // What concerns a script begins with its file and line, all else with this program's name.
    const bool named = result.error().code != kpl::Errc::script && result.error().at.file.empty();
    const std::string message = (named ? "kprobe-lua: " : "") + result.error().message();
    const bool colored = kpl::uses_color(color, STDERR_FILENO);
    std::fprintf(stderr, "%s\n", (colored ? kpl::painted_error(message) : message).c_str());
    return result.error().code == kpl::Errc::usage ? 2 : 1;
}

kpl::Result<int> print(const std::string& text) {
    auto output = TRY(kpl::Sink::open("", kpl::Buffering::Full));
    output.write(text);
    TRY(output.end());
    return 0;
}

int act(const kpl::CommandLine& line) {
    switch (line.action) {
        case kpl::CommandLine::Action::Help: return report(print(line.text), line.options.color);
        case kpl::CommandLine::Action::Version:
            return report(print("kprobe-lua " KPL_VERSION "\n"), line.options.color);
        case kpl::CommandLine::Action::Inspect: return report(kpl::run_command(line), line.options.color);
        case kpl::CommandLine::Action::Vm: return report(kpl::run_in_vm(line), line.options.color);
        case kpl::CommandLine::Action::Run:
            return report(line.options.prompt ? kpl::Repl::prompt(line.options) : kpl::Run::script(line.options),
                          line.options.color);
    }
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    // What is large and freed goes back to the kernel. Else glibc keeps it from the first time on.
    ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
    // A broken pipe is an error of write(), and ends the run quietly; so is a file that reaches its limit (ulimit -f),
    // which is told. Programs that scripts start have the default again.
    for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, [](int) {});
    // Who ignored it, as agents do, would leave nobody to ask how a command has ended.
    std::signal(SIGCHLD, SIG_DFL);
    kpl::wait_on_stderr();
    std::vector<char*> words(argv, argv + argc);
    std::string tool = kpl::called_tool(argv[0]).value_or("");
    if (!tool.empty()) words.insert(words.begin() + 1, tool.data());
    words.push_back(nullptr);
    const kpl::CommandLine line = kpl::parse_command_line(static_cast<int>(words.size()) - 1, words.data());
    if (line.bad_usage) {
        std::fprintf(stderr, "kprobe-lua: %s\nTry 'kprobe-lua --help'.\n", line.text.c_str());
        return 2;
    }
    try {
        return act(line);
    } catch (const std::bad_alloc&) {
        return report(kpl::Error{kpl::Errc::system, "not enough memory"}, line.options.color);
    }
}
