// SPDX-License-Identifier: MIT
#include "repl/editor.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "repl/libedit.hpp"

namespace kpl {
namespace {

const Libedit* lib = nullptr;  // since the first Editor::open()

// Keys that stand for what is no key: nobody types these.
constexpr wchar_t interrupt_key = 3, run_key = 31;

constexpr size_t longest_line = 1 << 20;
constexpr size_t long_line = 4096;   // each look at the whole of it takes time
constexpr int flood_ms = 10;         // what comes within it is one flood
constexpr size_t shortest_run = 16;  // bytes of text that come at once are no typing
constexpr std::string_view paste_end = "\033[201~";

// Beside those of libedit's emacs mode.
constexpr const char* bindings[][2] = {
    {"^C", "kpl-interrupt"},
    {"^_", "kpl-run"},
    {"\033[200~", "kpl-paste"},
    {"^I", "kpl-complete"},
    {"^R", "em-inc-search-prev"},
    {"^W", "ed-delete-prev-word"},
    {"\033[1;5C", "em-next-word"},
    {"\033[1;5D", "ed-prev-word"},
    {"\033[H", "ed-move-to-beg"},
    {"\033[F", "ed-move-to-end"},
    {"\033[1~", "ed-move-to-beg"},
    {"\033[4~", "ed-move-to-end"},
    {"\033[3~", "ed-delete-next-char"},
};

std::wstring wide(const std::string& text) {
    std::wstring out;
    mbstate_t state{};
    for (size_t at = 0; at < text.size();) {
        wchar_t c = 0;
        const size_t n = ::mbrtowc(&c, text.data() + at, text.size() - at, &state);
        if (n == static_cast<size_t>(-1) || n == static_cast<size_t>(-2)) {
            state = {};
            c = L'?';
        }
        if (c) out += c;
        at += n == 0 || n > text.size() ? 1 : n;
    }
    return out;
}

std::string narrow(const wchar_t* from, const wchar_t* to) {
    std::string out;
    mbstate_t state{};
    char bytes[MB_LEN_MAX];
    for (; from != to; from++) {
        const size_t n = ::wcrtomb(bytes, *from, &state);
        if (n != static_cast<size_t>(-1)) out.append(bytes, n);
    }
    return out;
}

std::string with_returns(std::string_view lines) {
    std::string out;
    for (const char c : lines) {
        if (c == '\n') out += '\r';
        out += c;
    }
    return out;
}

// From somewhere `down` rows below.
std::string back_to(const Position& at, size_t down) {
    return fmt::format("\r\033[{}A{}", down, at.column ? fmt::format("\033[{}C", at.column) : "");
}

Editor* editor_of(EditLine* el) {
    void* data = nullptr;
    lib->el_get(el, EL_CLIENTDATA, &data);
    return static_cast<Editor*>(data);
}

}  // namespace

template <unsigned char (Editor::*action)()>
unsigned char Editor::bound(editline* el, int) {
    return (editor_of(el)->*action)();
}

Result<std::unique_ptr<Editor>> Editor::open(Hooks hooks, bool color) {
    lib = TRY(Libedit::load());
    std::unique_ptr<Editor> editor(new Editor(std::move(hooks), color));
    editor->el_ = lib->el_init("kprobe-lua", stdin, stdout, stderr);
    editor->history_ = lib->history_init();
    if (!editor->el_ || !editor->history_) return Error{Errc::system, "the terminal can't be used for editing"};
    HistEvent event;
    lib->history(editor->history_, &event, H_SETSIZE, 10000);
    lib->history(editor->history_, &event, H_SETUNIQUE, 1);
    editor->bind_keys();
    editor->measure();
    return editor;
}

void Editor::bind_keys() {
    lib->el_set(el_, EL_CLIENTDATA, this);
    lib->el_set(el_, EL_SIGNAL, 0);
    lib->el_set(el_, EL_EDITOR, "emacs");
    lib->el_set(el_, EL_HIST, lib->history, history_);
    lib->el_set(el_, EL_GETCFN, next_key);
    lib->el_set(
        el_, EL_PROMPT_ESC, +[](EditLine* el) { return editor_of(el)->painted_prompt_.data(); }, '\1');
    lib->el_set(el_, EL_ADDFN, "kpl-interrupt", "Clear the line", bound<&Editor::interrupt>);
    lib->el_set(el_, EL_ADDFN, "kpl-run", "Insert text that came at once", bound<&Editor::insert_run>);
    lib->el_set(el_, EL_ADDFN, "kpl-paste", "Insert what is pasted", bound<&Editor::insert_paste>);
    lib->el_set(el_, EL_ADDFN, "kpl-complete", "Complete the word", bound<&Editor::complete>);
    for (const auto& [key, function] : bindings) lib->el_set(el_, EL_BIND, key, function, nullptr);
    char* up = nullptr;
    char name[] = "up";
    plain_ = lib->el_get(el_, EL_GETTC, name, &up) != 0 || !up || !*up;
}

Editor::~Editor() {
    if (el_) lib->el_end(el_);
    if (history_) lib->history_end(history_);
}

void Editor::measure() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_row || !size.ws_col) return;
    rows_ = size.ws_row;
    columns_ = std::max<size_t>(size.ws_col, 2);
}

void Editor::remember(const std::string& entry) {
    HistEvent event;
    lib->history(history_, &event, H_ENTER, entry.c_str());
}

Editor::Input Editor::read(const std::string& prompt) {
    prompt_ = prompt;
    painted_prompt_ = color_ ? "\1\033[1;32m\1" + prompt.substr(0, prompt.size() - 1) + "\1\033[0m\1 " : prompt;
    interrupted_ = false;
    reading_ = true;
    if (!plain_) write("\033[?2004h");  // pastes are to be marked as such
    lib->el_set(el_, EL_PREP_TERM, 1);  // before the prompt asks for keys: the terminal would echo these itself
    int count = 0;
    const char* line = lib->el_gets(el_, &count);
    reading_ = false;
    std::string text = line ? line : "";
    if (!plain_) write("\033[?2004l");
    if (interrupted_) return {Kind::Interrupted, {}};
    if (!line || ended_ || count <= 0) {
        write("\n");
        return {Kind::End, {}};
    }
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    return {Kind::Line, std::move(text)};
}

// ---- keys
bool Editor::read_keys() {
    char bytes[4096];
    const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) return false;
    keys_.append(bytes, static_cast<size_t>(n));
    return true;
}

// The next of what was read; false: there is none, or not all of it yet.
bool Editor::take_key(wchar_t* key) {
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    const size_t run = static_cast<size_t>(std::find_if(keys_.begin(), keys_.end(), control) - keys_.begin());
    if (run >= shortest_run) {
        run_ += keys_.substr(0, run);
        keys_.erase(0, run);
        *key = run_key;
        return true;
    }
    while (!keys_.empty()) {
        mbstate_t state{};
        const size_t n = ::mbrtowc(key, keys_.data(), keys_.size(), &state);
        if (n == static_cast<size_t>(-2)) return false;
        const bool bad = n == static_cast<size_t>(-1);
        keys_.erase(0, bad || n == 0 ? 1 : n);
        if (!bad && *key != run_key) return true;  // what is no character is no key
    }
    return false;
}

int Editor::next_key(editline* el, wchar_t* key) {
    Editor& self = *editor_of(el);
    if (self.take_key(key)) return 1;
    self.show_hint();
    for (;;) {
        switch (self.ended_ ? Wake::End : self.hooks_.wait()) {
            case Wake::Key:
                self.ended_ = !self.read_keys();
                if (self.ended_ || !self.take_key(key)) continue;
                self.erase_hint();
                return 1;
            case Wake::Interrupt:
                self.erase_hint();
                self.keys_.clear();
                *key = interrupt_key;
                return 1;
            case Wake::End:
                self.erase_hint();
                self.ended_ = true;
                return 0;
            case Wake::Redraw: self.redraw(); break;
        }
    }
}

unsigned char Editor::interrupt() {
    interrupted_ = true;
    if (!plain_) {
        Position end;
        const Position at = cursor(&end);
        write(std::string(end.row - at.row, '\n'));
    }
    write("^C\n");
    return CC_NEWLINE;
}

size_t Editor::line_length() const {
    const LineInfoW* line = lib->el_wline(el_);
    return static_cast<size_t>(line->lastchar - line->buffer);
}

bool Editor::insert(const std::string& text) {
    const std::wstring more = wide(text);
    if (line_length() + more.size() > longest_line) return false;
    return more.empty() || lib->el_winsertstr(el_, more.c_str()) == 0;
}

// A long line is shown when no more of it comes.
unsigned char Editor::insert_run() {
    if (!insert(std::exchange(run_, {}))) return CC_REFRESH_BEEP;
    pollfd keys{STDIN_FILENO, POLLIN, 0};
    return line_length() > long_line && ::poll(&keys, 1, flood_ms) > 0 ? CC_NORM : CC_REFRESH;
}

// Waits for keys, or for what comes in their place.
Editor::Wake Editor::more_keys() {
    for (;;) {
        const Wake wake = hooks_.wait();
        if (wake == Wake::Key && !read_keys()) return Wake::End;
        if (wake != Wake::Redraw) return wake;
        redraw();
    }
}

unsigned char Editor::insert_paste() {
    std::string text;
    for (size_t end = 0; (end = keys_.find(paste_end)) == keys_.npos;)
        if (const Wake wake = more_keys(); wake != Wake::Key) {
            keys_.clear();  // half of a paste is not run
            return wake == Wake::Interrupt ? interrupt() : CC_REFRESH_BEEP;
        }
    const size_t end = keys_.find(paste_end);
    for (size_t i = 0; i < end; i++) {
        const char c = keys_[i] == '\r' ? '\n' : keys_[i];
        if (c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20) text += c;
    }
    keys_.erase(0, end + paste_end.size());
    while (text.ends_with('\n')) text.pop_back();
    return insert(text) ? CC_REFRESH : CC_REFRESH_BEEP;
}

void Editor::stop() {
    erase_hint();
    lib->el_set(el_, EL_PREP_TERM, 0);
    struct sigaction ours {
    }, standard{};
    standard.sa_handler = SIG_DFL;
    ::sigaction(SIGTSTP, &standard, &ours);
    ::raise(SIGTSTP);  // returns when we are continued, or at once where nobody could continue us
    ::sigaction(SIGTSTP, &ours, nullptr);
    lib->el_set(el_, EL_PREP_TERM, 1);
}

// ---- completion
unsigned char Editor::complete() {
    if (!hooks_.complete) return CC_ERROR;
    const auto [length, words, more, common] = hooks_.complete(before_cursor());
    if (words.empty()) return CC_ERROR;
    if (words.size() > 1 && common.size() <= length) {
        list_words(words, more);
        return CC_NORM;
    }
    lib->el_deletestr(el_, static_cast<int>(wide(before_cursor().substr(before_cursor().size() - length)).size()));
    return insert(common) ? CC_REFRESH : CC_REFRESH_BEEP;
}

// In columns, sorted downwards.
void Editor::list_words(const std::vector<std::string>& words, size_t more) {
    const size_t count = words.size();
    size_t width = 0;
    for (size_t i = 0; i < count; i++) width = std::max(width, words[i].size() + 2);
    const size_t across = std::max<size_t>(1, (columns_ - 1) / width), down = (count + across - 1) / across;
    std::string lines;
    for (size_t row = 0; row < down; row++) {
        std::string line;
        for (size_t i = row; i < count; i += down) {
            line.resize((i / down) * width, ' ');
            line += words[i];
        }
        lines += line + "\n";
    }
    if (more) lines += fmt::format("… {} more\n", more);
    above(lines);
}

// ---- what is shown
void Editor::write(std::string_view bytes) {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    std::fflush(stdout);
}

Position Editor::cursor(Position* end) const {
    Position at, found;
    for (const wchar_t c : wide(prompt_)) at.add(c, columns_);
    const LineInfoW* line = lib->el_wline(el_);
    for (const wchar_t* c = line->buffer; c != line->lastchar; c++) {
        if (c == line->cursor) found = at;
        at.add(*c, columns_);
    }
    if (line->cursor == line->lastchar) found = at;
    if (end) *end = at;
    return found;
}

std::string Editor::before_cursor() const {
    const LineInfoW* line = lib->el_wline(el_);
    return narrow(line->buffer, line->cursor);
}

// The cursor is where the prompt began.
void Editor::erase_line() {
    hint_.clear();
    if (plain_) return write("\r\n");
    const size_t row = cursor().row;
    write("\r" + (row ? fmt::format("\033[{}A", row) : "") + "\033[J");
}

void Editor::redraw() {
    erase_line();
    lib->el_resize(el_);
    measure();
    lib->el_set(el_, EL_REFRESH);
    show_hint();
}

void Editor::above(std::string_view lines) {
    if (lines.empty()) return;
    if (!reading_) return write(lines);
    const bool hinted = !hint_.empty();
    erase_line();
    write(with_returns(lines));
    lib->el_set(el_, EL_REFRESH);
    if (hinted) show_hint();
}

// Below the line's last row; the cursor goes back to where libedit left it.
void Editor::show_hint() {
    if (!hooks_.hint || plain_ || columns_ < 40 || !hint_.empty() || line_length() > long_line) return;
    hint_ = hooks_.hint(before_cursor());
    if (hint_.empty()) return;
    std::wstring text = wide(hint_);
    if (text.size() >= columns_) text = text.substr(0, columns_ - 2) + L"…";
    Position end;
    const Position at = cursor(&end);
    const size_t down = end.row - at.row + 1;
    write(fmt::format("{}\r\033[2m{}\033[0m\033[K{}", std::string(down, '\n'),
                      narrow(text.data(), text.data() + text.size()), back_to(at, down)));
}

void Editor::erase_hint() {
    if (std::exchange(hint_, {}).empty()) return;
    Position end;
    const Position at = cursor(&end);
    const size_t down = end.row - at.row + 1;
    write(fmt::format("{}\r\033[K{}", std::string(down, '\n'), back_to(at, down)));
}

}  // namespace kpl
