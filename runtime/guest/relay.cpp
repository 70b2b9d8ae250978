// SPDX-License-Identifier: MIT
#include "guest/relay.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "guest/protocol.h"

namespace kpl {
namespace {

// A pipe that poll() reports writable takes this much without blocking (PIPE_BUF).
constexpr std::size_t write_size = 4096;
constexpr std::chrono::milliseconds gather{1};
constexpr int tick_ms = 1000;      // how often the limits are looked at
constexpr int where_seconds = 10;  // for a kernel that hangs to say where

struct Forward {
    int signal;
    char ask;
    bool ends;  // the second such signal ends the VM
};
constexpr Forward forwards[] = {
    {SIGINT, KPL_ASK_INT, true},    {SIGTERM, KPL_ASK_TERM, true},     {SIGHUP, KPL_ASK_TERM, true},
    {SIGUSR1, KPL_ASK_USR1, false}, {SIGWINCH, KPL_ASK_WINDOW, false},
};

std::size_t number_at(std::string_view text) {
    std::size_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace

void tell(const GuestSpec& spec, std::string_view text) {
    if (spec.verbose && !text.empty()) (void)!write(spec.err_fd, text.data(), text.size());
}

SignalsAsReads::SignalsAsReads() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const Forward& forward : forwards) {
        struct sigaction now;
        if (sigaction(forward.signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&wanted, forward.signal);
    }
    sigprocmask(SIG_BLOCK, &wanted, &before_);
    fd_.reset(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &pipe_before_);
}

SignalsAsReads::~SignalsAsReads() {
    sigaction(SIGPIPE, &pipe_before_, nullptr);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int SignalsAsReads::next() {
    signalfd_siginfo info;
    return read(fd_.get(), &info, sizeof(info)) == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
}

RawTerminal::RawTerminal() {
    termios raw;
    if (tcgetattr(STDIN_FILENO, &before_) < 0) return;
    raw = before_;
    cfmakeraw(&raw);
    changed_ = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

RawTerminal::~RawTerminal() {
    if (changed_) tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

Relay::Relay(const GuestSpec& spec, Qemu& qemu, GuestReport& report)
    : spec_(spec),
      qemu_(qemu),
      report_(report),
      streams_{{Port::out, 1, spec.out_fd, KPL_ASK_CLOSE_STDOUT}, {Port::err, 2, spec.err_fd, KPL_ASK_CLOSE_STDERR}},
      start_(Clock::now()),
      heard_(start_),
      output_(start_) {}

void Relay::run() {
    while (!over_ && step()) continue;
    drain();
    raw_.reset();
    qemu_.end();
}

// One round of poll(); false when the VM has ended by itself.
bool Relay::step() {
    enum { ended, signals, console, control, keys, keys_port, first_stream };
    pollfd fds[first_stream + 2 * stream_count] = {
        {qemu_.ended(), POLLIN, 0},
        {signals_.fd(), POLLIN, 0},
        {qemu_.port(Port::console), POLLIN, 0},
        {qemu_.port(Port::control), POLLIN, 0},
        {raw_ && keys_.empty() && !no_more_keys_ ? STDIN_FILENO : -1, POLLIN, 0},
        {keys_.empty() ? -1 : qemu_.port(Port::out), POLLOUT, 0},
    };
    for (std::size_t i = 0; i < stream_count; i++) {
        const Stream& s = streams_[i];
        fds[first_stream + 2 * i] = {s.pending.empty() && !s.ended ? qemu_.port(s.port) : -1, POLLIN, 0};
        fds[first_stream + 2 * i + 1] = {s.pending.empty() || s.gone ? -1 : s.to, POLLOUT, 0};
    }
    // What has come since the last round came byte by byte: take more at once than one.
    std::this_thread::sleep_for(gather);
    if (poll(fds, std::size(fds), tick_ms) < 0) return errno == EINTR;
    if (fds[signals].revents) take_signal();
    if (fds[console].revents) take_console();
    if (fds[keys].revents) take_keys();
    if (fds[keys_port].revents) send_keys();
    for (std::size_t i = 0; i < stream_count; i++)
        pump(streams_[i], fds[first_stream + 2 * i].revents != 0, fds[first_stream + 2 * i + 1].revents != 0);
    if (fds[control].revents) take_control();
    if (over_ || !check_limits()) return false;
    return !fds[ended].revents;
}

bool Relay::check_limits() {
    const auto now = Clock::now();
    const auto past = [now](Clock::time_point since, int limit) {
        return limit > 0 && now - since >= std::chrono::seconds(limit);
    };
    const GuestLimits& limits = spec_.limits;
    if (!up_ && past(start_, limits.boot))
        fail(fmt::format("the VM did not come up within {} s", limits.boot));
    else if (past(start_, limits.run))
        fail(fmt::format("the VM was ended: its time limit of {} s is over", limits.run));
    else if (up_ && past(output_, limits.quiet))
        fail(fmt::format("the VM was ended: the program wrote nothing for {} s", limits.quiet));
    else if (hangs_ && past(interrupted_, where_seconds))
        over_ = true;
    else if (up_ && !hangs_ && past(heard_, limits.silence))
        ask_where(now);
    else if (up_ && limits.silence > 0 && !asked_alive_ && !hangs_ &&
             now - heard_ >= std::chrono::seconds(limits.silence) / 3)
        asked_alive_ = true, ask(KPL_ASK_ALIVE);
    return !over_;
}

// The answer is on the console; the machine ends with it, or gets a few seconds.
void Relay::ask_where(Clock::time_point now) {
    report_.failure =
        fmt::format("the VM hangs: no sign of life for {} s; where, its console says", spec_.limits.silence);
    hangs_ = true;
    interrupted_ = now;
    qemu_.interrupt_all();
}

void Relay::fail(std::string text) {
    if (report_.failure.empty()) report_.failure = std::move(text);
    over_ = true;
}

void Relay::ask(char what) { (void)!send(qemu_.port(Port::control), &what, 1, MSG_DONTWAIT | MSG_NOSIGNAL); }

// Appends what there is, without waiting; false at the end of the stream.
bool Relay::read_port(Port port, std::string& bytes) {
    char buffer[write_size];
    const ssize_t n = read(qemu_.port(port), buffer, sizeof(buffer));
    if (n > 0) {
        bytes.append(buffer, static_cast<std::size_t>(n));
        heard_ = Clock::now();
        asked_alive_ = false;
    }
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

void Relay::pump(Stream& s, bool readable, bool writable) {
    if (readable) {
        std::string bytes;
        s.ended = !read_port(s.port, bytes);
        if (!bytes.empty()) output_ = heard_;
        // Until there is something to type at, ^C ends the VM.
        if (spec_.keyboard && !bytes.empty() && !raw_) {
            raw_.emplace();
            send_window();
        }
        deliver(s, bytes);
    }
    if (!writable) return;
    const ssize_t n = write(s.to, s.pending.data(), std::min(s.pending.size(), write_size));
    if (n > 0) s.pending.erase(0, static_cast<std::size_t>(n));
    if (n >= 0 || errno == EAGAIN || errno == EINTR) return;
    s.gone = true;
    s.pending.clear();
    ask(s.closed_ask);
}

void Relay::deliver(Stream& s, std::string_view bytes) {
    if (bytes.empty()) return;
    if (spec_.on_output)
        spec_.on_output(s.number, bytes);
    else if (!s.gone)
        s.pending.append(bytes);
}

void Relay::take_console() {
    std::string bytes;
    read_port(Port::console, bytes);
    report_.console.append(bytes);
    std::erase(bytes, '\r');
    if (up_) tell(spec_, bytes);  // the boot's chatter is for failures alone
}

void Relay::take_control() {
    read_port(Port::control, control_);
    while (!over_) {
        if (!file_path_.empty()) {
            take_file_bytes();
            if (!file_path_.empty()) return;
        }
        const auto end = control_.find('\n');
        if (end == std::string::npos) return;
        const std::string line = control_.substr(0, end);
        control_.erase(0, end + 1);
        take_line(line);
    }
}

// "WORD TEXT", see protocol.h.
void Relay::take_line(std::string_view line) {
    const auto space = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, space);
    const std::string text(line.substr(std::min(space + 1, line.size())));
    if (word == KPL_SAY_UP) {
        up_ = true;
        output_ = Clock::now();
        const std::chrono::duration<double> took = output_ - start_;
        tell(spec_, fmt::format("vm: up after {:.1f} s\n", took.count()));
    } else if (word == KPL_SAY_FAIL) {
        report_.failure = text;
    } else if (word == KPL_SAY_EXIT) {
        report_.status = static_cast<int>(number_at(text));
    } else if (word == KPL_SAY_LEFT) {
        report_.left.push_back(text);
    } else if (word == KPL_SAY_FILE) {
        file_size_ = number_at(text);
        file_path_ = text.substr(std::min(text.find(' ') + 1, text.size()));
    } else if (word == KPL_SAY_DONE) {
        report_.finished = true;
        over_ = true;
    }
}

void Relay::take_file_bytes() {
    const std::size_t n = std::min(file_size_ - file_bytes_.size(), control_.size());
    file_bytes_.append(control_, 0, n);
    control_.erase(0, n);
    if (file_bytes_.size() < file_size_) return;
    const std::string path = std::exchange(file_path_, {});
    const std::string bytes = std::exchange(file_bytes_, {});
    // Only what was asked for is written: the guest does not choose the host's files.
    if (std::find(spec_.fetch.begin(), spec_.fetch.end(), path) == spec_.fetch.end()) return;
    if (spec_.take_file && spec_.take_file(path, bytes)) return;
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << bytes;
    out.close();
    if (!out && report_.failure.empty()) report_.failure = fmt::format("can't write {}", path);
}

void Relay::take_keys() {
    char bytes[write_size];
    const ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
    if (n > 0) keys_.append(bytes, static_cast<std::size_t>(n));
    no_more_keys_ = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
    if (no_more_keys_) ask(KPL_ASK_TERM);  // the terminal is gone
}

void Relay::send_keys() {
    const ssize_t n = send(qemu_.port(Port::out), keys_.data(), keys_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) keys_.erase(0, static_cast<std::size_t>(n));
}

void Relay::send_window() {
    winsize window;
    if (!up_ || ioctl(STDIN_FILENO, TIOCGWINSZ, &window) != 0) return;
    for (const char c : fmt::format("{}{} {}\n", KPL_ASK_WINDOW, window.ws_row, window.ws_col)) ask(c);
}

void Relay::take_signal() {
    const int signal = signals_.next();
    if (signal == SIGWINCH) return spec_.keyboard ? send_window() : void();
    for (const Forward& forward : forwards) {
        if (forward.signal != signal) continue;
        // Before the program runs there is nothing to drain.
        if (forward.ends && (++end_signals_ > 1 || !up_)) {
            report_.status = 128 + signal;
            fail("the VM was ended by a signal");
            return;
        }
        ask(forward.ask);
    }
}

// After the final marker, or after the VM's end: everything that was sent before it is in the sockets.
void Relay::drain() {
    for (std::string bytes = "x"; !bytes.empty();) {
        bytes.clear();
        read_port(Port::console, bytes);
        report_.console.append(bytes);
    }
    for (Stream& s : streams_) {
        for (bool more = true; more && !s.gone;) {
            std::string bytes;
            read_port(s.port, bytes);
            more = !bytes.empty();
            deliver(s, bytes);
        }
        while (!s.pending.empty() && !s.gone) {
            pollfd fds[] = {{s.to, POLLOUT, 0}, {signals_.fd(), POLLIN, 0}};
            if (poll(fds, 2, -1) < 0 && errno != EINTR) return;
            if (fds[1].revents && signals_.next() != SIGUSR1) return;
            pump(s, false, fds[0].revents != 0);
        }
    }
}

}  // namespace kpl
