// SPDX-License-Identifier: MIT
// Editor: the line that is being typed, by libedit. Text appears above it; the line stays as it was, with its cursor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "repl/complete.hpp"
#include "repl/layout.hpp"

struct editline;
struct history;

namespace kpl {

// The file of libedit, which is loaded by the first Editor::open().
const char* line_editing_library();

class Editor {
  public:
    enum class Wake {
        Key,        // one can be read
        Interrupt,  // the line is to be cleared
        End,        // there will be no more keys
        Redraw,     // the terminal has another size, or is ours again
    };
    enum class Kind { Line, Interrupted, End };
    struct Input {
        Kind kind;
        std::string text;
    };
    // What the caller does, or tells, while a line is typed. All may be empty but `wait`.
    struct Hooks {
        std::function<Wake()> wait;
        std::function<Completer::Answer(std::string_view before_cursor)> complete{};
        std::function<std::string(std::string_view before_cursor)> hint{};  // one line, shown below
    };

    static Result<std::unique_ptr<Editor>> open(Hooks hooks, bool color);
    Editor(const Editor&) = delete;
    Editor& operator=(const Editor&) = delete;
    ~Editor();

    Input read(const std::string& prompt);
    // Whole lines.
    void above(std::string_view lines);
    void remember(const std::string& entry);  // for ^P, ^R
    size_t columns() const { return columns_; }
    size_t rows() const { return rows_; }
    void measure();  // the terminal may have another size
    // Gives the terminal back, stops this process as ^Z does, and takes it again.
    void stop();

  private:
    Editor(Hooks hooks, bool color) : hooks_(std::move(hooks)), color_(color) {}
    static int next_key(editline* el, wchar_t* key);
    template <unsigned char (Editor::*action)()>
    static unsigned char bound(editline* el, int key);
    unsigned char interrupt();
    unsigned char insert_run();
    unsigned char insert_paste();
    unsigned char complete();
    void bind_keys();
    bool insert(const std::string& text);
    bool take_key(wchar_t* key);
    bool read_keys();
    Wake more_keys();
    void write(std::string_view bytes);
    Position cursor(Position* end = nullptr) const;
    std::string before_cursor() const;
    size_t line_length() const;
    void erase_line();
    void redraw();
    void show_hint();
    void erase_hint();
    void list_words(const std::vector<std::string>& words, size_t more);

    Hooks hooks_;
    const bool color_;
    struct editline* el_ = nullptr;
    struct history* history_ = nullptr;
    std::string prompt_, painted_prompt_;
    std::string keys_;  // read, and not yet given to libedit
    std::string run_;   // text that goes into the line at once
    std::string hint_;  // as it is shown; empty: none
    size_t rows_ = 24, columns_ = 80;
    bool plain_ = false;  // the terminal can't move its cursor
    bool reading_ = false, interrupted_ = false, ended_ = false;
};

}  // namespace kpl
