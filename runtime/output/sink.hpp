// SPDX-License-Identifier: MIT
// Sink: where a script's data goes: stdout or -o FILE. Messages go to stderr, elsewhere.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace kpl {

class Sink {
  public:
    static Result<Sink> open(const std::string& path);  // empty: stdout
    Sink(Sink&& other) noexcept;
    Sink& operator=(Sink&&) = delete;
    Sink(const Sink&) = delete;
    ~Sink();

    // Whole texts; flushed at the end of a batch by flush(). False once the reader has gone (a broken pipe): the
    // caller ends quietly.
    bool write(std::string_view text);
    bool flush();
    bool broken() const { return broken_; }
    // Set when writing failed for another reason (disk full); empty otherwise.
    const std::string& failure() const { return failure_; }

  private:
    explicit Sink(FILE* file, bool owned) : file_(file), owned_(owned) {}
    bool check(bool ok);

    FILE* file_;
    bool owned_;
    bool broken_ = false;
    std::string failure_;
};

}  // namespace kpl
