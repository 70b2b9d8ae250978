// SPDX-License-Identifier: MIT
// Runs a program on a terminal and sits before it, by a script.
//
//   terminal [--size ROWSxCOLUMNS] [--term TERM] [--record FILE.cast] [--transcript FILE] SCRIPT PROGRAM [ARGS…]
//
//   > TEXT         waits for a prompt ("3> "), types TEXT and Enter
//   leave          waits for a prompt and types ^D
//   type TEXT      types TEXT as it is; \r \t \e \\ \xHH
//   see REGEX      waits for a line, from the last prompt that was answered on, that matches (anywhere in it)
//   row REGEX      waits until the cursor's line matches
//   column N       waits until the cursor is in this column, which begins with 0
//   never REGEX    there has been no such line since that prompt
//   keys N         types N letters, one after the other's echo, and erases them; prints how long an echo takes
//   flood N · noise N   types N letters; N bytes of anything but ^D ^Z ^\ and the end of a line
//   size ROWS COLUMNS · signal N · hangup
//   sh COMMAND     runs it, which must succeed; run COMMAND: in the background
//   end STATUS     waits for the program's end
//   session FILE   types what the file's blocks ```session show behind their prompts, and sees what they show below
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <sstream>

#include "emulator.hpp"

namespace {

using Clock = std::chrono::steady_clock;
const auto patience = std::chrono::seconds(std::getenv("KPL_PATIENCE") ? std::atoi(std::getenv("KPL_PATIENCE")) : 120);

struct Options {
    size_t rows = 24, columns = 80;
    std::string term = "xterm-256color", record, transcript, script;
    char** program = nullptr;
};

std::string unescaped(const std::string& text) {
    std::string out;
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            out += text[i];
            continue;
        }
        const char c = text[++i];
        if (c == 'x') {
            out += static_cast<char>(std::strtol(text.substr(i + 1, 2).c_str(), nullptr, 16));
            i += 2;
        } else {
            out += c == 'r' ? '\r' : c == 't' ? '\t' : c == 'e' ? '\033' : c;
        }
    }
    return out;
}

// A line as documents show it: a number is any number, … is anything, blanks are any blanks.
std::regex pattern_of(const std::string& shown) {
    std::string out = "^";
    for (size_t i = 0; i < shown.size(); i++) {
        const char c = shown[i];
        if (shown.compare(i, 3, "…") == 0) {
            out += ".*";
            i += 2;
        } else if (std::isdigit(static_cast<unsigned char>(c)) || c == ' ') {
            out += c == ' ' ? " +" : "[0-9]+";
            while (i + 1 < shown.size() &&
                   (c == ' ' ? shown[i + 1] == ' ' : std::isdigit(static_cast<unsigned char>(shown[i + 1]))))
                i++;
        } else {
            if (std::string("\\^$.|?*+()[]{}").find(c) != std::string::npos) out += '\\';
            out += c;
        }
    }
    return std::regex(out + "$");
}

class Sitter {
  public:
    explicit Sitter(const Options& options) : options_(options), screen_(options.rows, options.columns) {
        winsize size{static_cast<unsigned short>(options.rows), static_cast<unsigned short>(options.columns), 0, 0};
        child_ = ::forkpty(&fd_, nullptr, nullptr, &size);
        if (child_ == 0) {
            ::execvp(options.program[0], options.program);
            ::_exit(127);
        }
        ::fcntl(fd_, F_SETFL, O_NONBLOCK);
        if (options.record.empty()) return;
        record_.open(options.record);
        record_ << nlohmann::json{{"version", 2},
                                  {"width", options.columns},
                                  {"height", options.rows},
                                  {"env", {{"TERM", "xterm-256color"}}}}
                << "\n";
    }
    ~Sitter() {
        if (child_ > 0) ::kill(child_, SIGKILL), ::waitpid(child_, nullptr, 0);
        for (const pid_t one : background_) ::kill(-one, SIGKILL), ::waitpid(one, nullptr, 0);
        if (!options_.transcript.empty()) std::ofstream(options_.transcript) << screen_.text();
    }

    void perform(std::istream& script) {
        for (std::string line; std::getline(script, line);) {
            if (line.empty() || line.starts_with("#")) continue;
            const size_t space = std::min(line.find(' '), line.size());
            step_ = line;
            act(line.substr(0, space), line.substr(std::min(space + 1, line.size())));
        }
    }

    [[noreturn]] void fail(const std::string& why) {
        std::cout << "FAILED: " << step_ << ": " << why << "\n--- terminal:\n"
                  << screen_.text() << "--- cursor: " << screen_.column() << "\n";
        std::exit(1);
    }

  private:
    void act(const std::string& what, const std::string& of) {
        int a = 0, b = 0;
        std::sscanf(of.c_str(), "%d %d", &a, &b);
        if (what == ">") return answer(of);
        if (what == "leave") return until_prompt(), type("\x04");
        if (what == "type") return type(unescaped(of));
        if (what == "see") return until([this, re = std::regex(of)] { return seen(re); });
        if (what == "row")
            return until([this, re = std::regex(of)] { return std::regex_search(screen_.line(screen_.row()), re); });
        if (what == "column") return until([this, a] { return static_cast<int>(screen_.column()) == a; });
        if (what == "never") return seen(std::regex(of)) ? fail("it is there") : void();
        if (what == "keys") return keys(a);
        if (what == "flood") return type(std::string(static_cast<size_t>(a), 'x'));
        if (what == "noise") return type(noise(static_cast<size_t>(a)));
        if (what == "size") return resize(static_cast<size_t>(a), static_cast<size_t>(b));
        if (what == "signal") return ::kill(child_, a) == 0 ? void() : fail("no such process");
        if (what == "hangup") return ::close(std::exchange(fd_, -1)), void();
        if (what == "sh") return std::system(of.c_str()) == 0 ? void() : fail("it failed");
        if (what == "run") return run(of);
        if (what == "end") return end(a);
        if (what == "session") return session(of);
        fail("no such step");
    }

    bool seen(const std::regex& re) const {
        for (size_t i = mark_; i < screen_.lines(); i++)
            if (std::regex_search(screen_.line(i), re)) return true;
        return false;
    }

    // Takes what comes, for a while.
    void listen(int ms) {
        pollfd ready{fd_, POLLIN, 0};
        if (fd_ < 0 || ::poll(&ready, 1, ms) <= 0) return;
        char bytes[65536];
        const ssize_t n = ::read(fd_, bytes, sizeof bytes);
        if (n > 0)
            take({bytes, static_cast<size_t>(n)});
        else if (n == 0 || errno != EAGAIN)
            gone_ = true, ::usleep(10000);
    }

    void take(std::string_view bytes) {
        screen_.feed(bytes);
        if (!record_.is_open()) return;
        const std::chrono::duration<double> at = Clock::now() - began_;
        record_ << nlohmann::json{at.count(), "o", std::string(bytes)}.dump(-1, ' ', false,
                                                                            nlohmann::json::error_handler_t::replace)
                << "\n";
    }

    template <class Condition>
    void until(Condition met) {
        const auto limit = Clock::now() + patience;
        while (!met()) {
            if (Clock::now() > limit) fail("not within " + std::to_string(patience.count()) + " s");
            if (gone_ && fd_ >= 0) fail("the program has ended");
            listen(100);
        }
    }

    void type(const std::string& text) {
        for (size_t done = 0; done < text.size();) {
            const ssize_t n = ::write(fd_, text.data() + done, std::min<size_t>(text.size() - done, 1024));
            if (n > 0) done += static_cast<size_t>(n);
            if (n < 0 && errno != EAGAIN) fail("can't type");
            listen(n > 0 ? 0 : 10);
        }
    }

    void until_prompt() {
        static const std::regex prompt("[0-9]+>>?$");
        until([this] {
            const std::string row = screen_.line(screen_.row());
            const auto width = std::count_if(row.begin(), row.end(), [](char c) { return (c & 0xc0) != 0x80; });
            return std::regex_search(row, prompt) && static_cast<long>(screen_.column()) == width + 1;
        });
    }

    void answer(const std::string& text) {
        until_prompt();
        mark_ = screen_.row();
        type(text + "\r");
        // The input is there before its output is looked for.
        if (!text.empty()) until([this] { return screen_.row() > mark_ || gone_; });
    }

    void keys(int count) {
        std::vector<double> times;
        for (int i = 1; i <= count; i++) {
            const auto began = Clock::now();
            type("x");
            // Output above the line may have the cursor meanwhile.
            until([&, echo = std::string(static_cast<size_t>(i), 'x')] {
                return screen_.line(screen_.row()).substr(0, screen_.column()).ends_with(" " + echo);
            });
            times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - began).count());
        }
        type(std::string(static_cast<size_t>(count), '\b'));
        std::sort(times.begin(), times.end());
        std::printf("from a key to its echo: median %.1f ms, 95 %% %.1f ms, longest %.1f ms\n", times[times.size() / 2],
                    times[times.size() * 95 / 100], times.back());
    }

    static std::string noise(size_t count) {
        std::minstd_rand random(1);
        std::string bytes;
        while (bytes.size() < count) {
            const char c = static_cast<char>(random() % 256);
            if (!std::strchr("\x04\x1a\x1c\x03\n\r\x13\x0f", c)) bytes += c;
        }
        return bytes;
    }

    void resize(size_t rows, size_t columns) {
        winsize size{static_cast<unsigned short>(rows), static_cast<unsigned short>(columns), 0, 0};
        screen_.resize(rows, columns);
        ::ioctl(fd_, TIOCSWINSZ, &size);
    }

    void run(const std::string& command) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            ::setpgid(0, 0);
            ::close(fd_);
            ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
            ::_exit(127);
        }
        ::setpgid(pid, pid);
        background_.push_back(pid);
    }

    void end(int wanted) {
        const auto limit = Clock::now() + patience;
        int status = 0;
        while (::waitpid(child_, &status, WNOHANG) == 0) {
            if (Clock::now() > limit) fail("it still runs");
            listen(20);
        }
        child_ = -1;
        for (int i = 0; i < 20 && !gone_; i++) listen(10);
        const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if (code != wanted) fail("status " + std::to_string(code));
    }

    void session(const std::string& path) {
        static const std::regex input("^[0-9]+>>? ?(.*)$");
        std::ifstream file(path);
        bool inside = false;
        size_t steps = 0;
        for (std::string line; std::getline(file, line);) {
            if (line.starts_with("```")) inside = line == "```session";
            if (!inside || line.starts_with("```") || line.empty()) continue;
            steps++;
            step_ = line;
            std::smatch parts;
            if (std::regex_match(line, parts, input))
                answer(parts[1]);
            else
                until([this, re = pattern_of(line)] { return seen(re); });
        }
        if (!steps) fail("no session there");
    }

    const Options& options_;
    Emulator screen_;
    std::ofstream record_;
    const Clock::time_point began_ = Clock::now();
    int fd_ = -1;
    pid_t child_ = -1;
    std::vector<pid_t> background_;
    size_t mark_ = 0;    // the line of the last prompt that was answered
    bool gone_ = false;  // the program has closed its terminal
    std::string step_;
};

}  // namespace

int main(int argc, char** argv) {
    Options options;
    int at = 1;
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
        const std::string name = argv[at], value = argv[at + 1];
        if (name == "--size") std::sscanf(value.c_str(), "%zux%zu", &options.rows, &options.columns);
        if (name == "--term") options.term = value;
        if (name == "--record") options.record = value;
        if (name == "--transcript") options.transcript = value;
    }
    if (at + 1 >= argc) return 2;
    options.script = argv[at];
    options.program = argv + at + 1;
    ::setenv("TERM", options.term.c_str(), 1);
    std::ifstream script(options.script);
    Sitter(options).perform(script);
    return script.bad() ? 1 : 0;
}
