// SPDX-License-Identifier: MIT
// Signals: what the terminal and others ask of the prompt. ^C stops code of the user's, or else clears the line.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "luahost/host.hpp"

namespace kpl {

class Signals {
  public:
    // One at a time. The host outlives it.
    static Result<std::unique_ptr<Signals>> take(LuaHost& host);
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;
    ~Signals();

    int fd() const;  // readable when something has come
    void clear();    // it is no longer
    // Each is true once for what has come since the last time.
    bool interrupted();
    bool resized();
    bool stopped();  // SIGTSTP: ^Z
    bool print_asked();
    bool ended() const;  // SIGTERM, SIGHUP, SIGQUIT: for good

    // Code of the user's runs: ^C stops it if it has been at it for `patience_ns`. Where that does not help, as in code
    // that the JIT has compiled, another ^C ends the process as the signal does.
    class Running {
      public:
        Running(Signals& signals, uint64_t patience_ns);
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;
        ~Running();
        bool stopped() const;  // ^C came

      private:
        Signals& signals_;
    };

  private:
    explicit Signals(LuaHost& host) : host_(host) {}
    LuaHost& host_;
};

}  // namespace kpl
