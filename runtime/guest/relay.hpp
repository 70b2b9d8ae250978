// SPDX-License-Identifier: MIT
// The host's side of a running VM: its streams out, our signals in, the control port's messages, the time
// limits.
#pragma once

#include <signal.h>
#include <termios.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "guest/guest.hpp"
#include "guest/qemu.hpp"

namespace kpl {

// Writes `text` to the spec's stderr if it is verbose.
void tell(const GuestSpec& spec, std::string_view text);

// While it lives, SIGINT, SIGTERM and SIGUSR1 are read from a descriptor instead of being acted upon (those
// that the process ignores stay ignored), and a broken pipe is an error instead of a signal.
class SignalsAsReads {
  public:
    SignalsAsReads();
    ~SignalsAsReads();
    SignalsAsReads(const SignalsAsReads&) = delete;
    int fd() const { return fd_.get(); }
    int next();  // a signal's number; 0 when there is none

  private:
    UniqueFd fd_;
    sigset_t before_{};
    struct sigaction pipe_before_ {};
};

// While it lives, our terminal passes each key on as it is. Of what is no terminal, nothing.
class RawTerminal {
  public:
    RawTerminal();
    ~RawTerminal();
    RawTerminal(const RawTerminal&) = delete;

  private:
    bool changed_ = false;
    termios before_{};
};

class Relay {
  public:
    Relay(const GuestSpec& spec, Qemu& qemu, GuestReport& report);

    // Runs until the VM has finished, ended or been ended; `report` then says how.
    void run();

  private:
    static constexpr std::size_t stream_count = 2;
    using Clock = std::chrono::steady_clock;
    // A stream of the program on its way to a descriptor of ours.
    struct Stream {
        Port port;
        int number;  // 1 or 2
        int to;
        char closed_ask;  // what to tell the guest when `to` is gone
        std::string pending{};
        bool gone = false;   // `to` can't be written any more
        bool ended = false;  // the VM's end is closed
    };

    bool step();
    bool check_limits();
    void pump(Stream& stream, bool readable, bool writable);
    void deliver(Stream& stream, std::string_view bytes);
    void take_console();
    void take_control();
    void take_line(std::string_view line);
    void take_file_bytes();
    void take_signal();
    void take_keys();
    void send_keys();
    void send_window();
    void ask(char what);
    void ask_where(Clock::time_point now);
    void fail(std::string text);
    bool read_port(Port port, std::string& bytes);
    void drain();

    const GuestSpec& spec_;
    Qemu& qemu_;
    GuestReport& report_;
    SignalsAsReads signals_;
    Stream streams_[stream_count];
    std::string control_;    // received and not yet a whole line
    std::string file_path_;  // being received; empty when none is
    std::string file_bytes_;
    std::size_t file_size_ = 0;
    Clock::time_point start_, heard_, output_;
    Clock::time_point interrupted_;  // when the machine was asked where it hangs
    bool up_ = false, asked_alive_ = false, hangs_ = false, over_ = false;
    int end_signals_ = 0;
    std::optional<RawTerminal> raw_;  // from the program's first output on
    std::string keys_;                // on their way to it
    bool no_more_keys_ = false;
};

}  // namespace kpl
