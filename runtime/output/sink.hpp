// SPDX-License-Identifier: MIT
// Sink: where a script's data goes: stdout or -o FILE. Messages go to stderr, elsewhere.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace kpl {

// When what is written reaches the reader: at once, at each line's end, when the buffer is full, or (Batch) whenever
// the session has nothing more to write for now.
enum class Buffering { None, Line, Full, Batch };

// What the program's own stdout is while the sink writes there: one that waits where a descriptor that does not block
// (whoever shares it decides that) has no room, and loses nothing; or the usual one, for libraries that ask it for its
// descriptor.
enum class Stdout { Waits, Usual };

// From now on, stderr loses nothing, either, where it does not block.
void wait_on_stderr();

class Sink {
  public:
    // An empty path: stdout. What a regular file holds stays until begin().
    static Result<Sink> open(const std::string& path, Buffering buffering = Buffering::Batch,
                             Stdout usual = Stdout::Waits);
    Sink(Sink&& other) noexcept;
    Sink& operator=(Sink&&) = delete;
    Sink(const Sink&) = delete;
    ~Sink();

    // From here on the file is this run's: what it held goes. Before, what is written only gathers, up to a block; of a
    // Sink that has not begun, the file stays as it was. As write().
    bool begin();

    // False once the reader has gone (a broken pipe): the
    // caller ends quietly.
    bool write(std::string_view text);
    bool flush();        // the end of a batch
    Result<void> end();  // of the run: an error says why not all was written, but for a broken pipe
    bool broken() const { return broken_; }

  private:
    struct File;  // of -o
    Sink(FILE* file, bool owned, int fd, Buffering buffering);
    static Result<Sink> open_file(const std::string& path, Buffering buffering);
    bool held() const;  // the file holds what it held before
    bool flush_all();
    bool check(bool ok);

    std::unique_ptr<char[]> block_;  // what is gathered for a write; none: a terminal's lines
    FILE* file_;
    File* opened_ = nullptr;  // file_'s
    bool owned_;
    FILE* usual_ = nullptr;  // what stdout was before it became file_
    Buffering buffering_;
    bool broken_ = false;
    std::string failure_;  // why writing failed, if not for a broken pipe
};

}  // namespace kpl
