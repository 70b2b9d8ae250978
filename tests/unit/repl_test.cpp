// SPDX-License-Identifier: MIT
// The prompt without a terminal: what stands before the cursor, what is shown a second, history, what is saved.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <lua.hpp>
#include <memory>

#include "repl/complete.hpp"
#include "repl/context.hpp"
#include "repl/help.hpp"
#include "repl/history.hpp"
#include "repl/layout.hpp"
#include "repl/saved.hpp"
#include "repl/screen.hpp"
#include "session/session.hpp"
#include "temp_dir.hpp"

using namespace kpl;
using namespace kpl::test;
using Kind = InputContext::Kind;

TEST_CASE("what may come next is told by what stands before the cursor") {
    struct Row {
        const char* text;
        Kind kind;
        const char* word;
        std::vector<std::string> path;
        const char* callee = "";
    };
    const Row rows[] = {
        {"", Kind::Name, "", {}},
        {"kre", Kind::Name, "kre", {}},
        {"x = ffi.of", Kind::Name, "of", {"ffi"}},
        {"p:sta", Kind::Name, "sta", {"p"}},
        {"task().mm.", Kind::Name, "", {"task()", "mm"}},
        {"ffi.cast(\"struct file *\", p.arg[1]).f_", Kind::Name, "f_", {"(struct file *)"}},
        {"a[1].b", Kind::Name, "b", {"a", "[1]"}},
        {"a[i + 1][\"x\"].y[f(2)].b", Kind::Name, "b", {"a", "[]", "x", "y", "[]"}},
        {"(a + b).c", Kind::Nothing, "c", {}},
        {"local t = task().mm t.", Kind::Name, "", {"task()", "mm"}},
        {"local t = task() local m = t.mm m.mm", Kind::Name, "mm", {"task()", "mm"}},
        {"local f = ffi.cast(\"struct file *\", x) f.f_", Kind::Name, "f_", {"(struct file *)"}},
        {"local t = t.x t.", Kind::Name, "", {"t", "x"}},
        {"local n = 1 + 2 n.", Kind::Name, "", {"n"}},
        {"if a then local t = task() end t.", Kind::Name, "", {"t"}},
        {"local file = task() kprobe(\"x\", function(p, file) local i = file.f_inode i.",
         Kind::Name,
         "",
         {"file", "f_inode"}},
        {"kprobe(\"vfs_re", Kind::Target, "vfs_re", {}, "kprobe"},
        {"kprobe 'vfs", Kind::Target, "vfs", {}, "kprobe"},
        {"kretprobe { \"vfs_", Kind::Target, "vfs_", {}, "kretprobe"},
        {"kretprobe({ { \"a\", \"vfs_", Kind::Nothing, "vfs_", {}, "kretprobe"},
        {"kprobe(\"x\", \"y", Kind::Nothing, "y", {}, "kprobe"},
        {"print(\"vfs_", Kind::Nothing, "vfs_", {}, "print"},
        {"kprobe { \"x\", p", Kind::Option, "p", {}, "kprobe"},
        {"kprobe { \"x\", pre = f, ", Kind::Option, "", {}, "kprobe"},
        {"kprobe { \"x\", pre = ", Kind::Name, "", {}},
        {"kprobe { \"x\", when = { ", Kind::Name, "", {}},
        {"require \"mod", Kind::File, "mod", {}, "require"},
        {"ffi.sizeof(\"struct fi", Kind::CType, "struct fi", {}, "sizeof"},
        {"x = 1 -- kpro", Kind::Nothing, "", {}},
        {"x = [[ kpro", Kind::Nothing, " kpro", {}},
        {"--[[ a ]] kpro", Kind::Name, "kpro", {}},
        {"x = \"a\\\"b\" kpro", Kind::Name, "kpro", {}},
        {"))}end end until", Kind::Name, "until", {}},
    };
    for (const Row& row : rows) {
        INFO(row.text);
        const InputContext context = context_of(row.text);
        CHECK(context.kind == row.kind);
        CHECK(context.word == row.word);
        CHECK(context.path == row.path);
        CHECK(context.callee == row.callee);
    }
}

TEST_CASE("words that are many are counted, listed once each, with what they have in common") {
    std::vector<std::string> names;
    for (int i = 0; i < 1000; i++) names.push_back("vfs_" + std::to_string(i));
    names.insert(names.end(), {"vfs_0", "other"});
    const auto answer = Completer::answer_of({names.begin(), names.end()}, "vf");
    CHECK(answer.length == 2);
    CHECK(answer.common == "vfs_");
    REQUIRE(answer.words.size() == 120);
    CHECK(answer.words[0] == "vfs_0");
    CHECK(answer.words[1] == "vfs_1");
    CHECK(answer.words.size() + answer.more == 1000);
    CHECK(Completer::answer_of({names.begin(), names.end()}, "x").words.empty());
}

TEST_CASE("the handler that the cursor is in is known, with its probe and parameters") {
    struct Row {
        const char *text, *declares, *target, *side;
        std::vector<std::string> params;
        bool in_params;
    };
    const Row rows[] = {
        {"kprobe(\"vfs_read\", function(p", "kprobe", "vfs_read", "", {"p"}, true},
        {"kprobe(\"vfs_read\", function(p, file) if x then y() end fi", "kprobe", "vfs_read", "", {"p", "file"}, false},
        {"kretprobe { \"vfs_read\", entry = function(p) end, ret = function(p, n) n",
         "kretprobe",
         "vfs_read",
         "ret",
         {"p", "n"},
         false},
        {"kprobe { { \"a\", \"b\" }, pre = function(p) p", "kprobe", "a", "pre", {"p"}, false},
    };
    for (const Row& row : rows) {
        INFO(row.text);
        const auto handler = context_of(row.text).handler;
        REQUIRE(handler);
        CHECK(handler->declares == row.declares);
        CHECK(handler->target == row.target);
        CHECK(handler->side == row.side);
        CHECK(handler->params == row.params);
        CHECK(handler->in_params == row.in_params);
    }
    CHECK(!context_of("kprobe(\"vfs_read\", function(p) end) x").handler);
    CHECK(!context_of("f(function(a").handler);
}

TEST_CASE("text stands on a terminal as its width says") {
    const auto at = [](std::wstring_view text, size_t columns) {
        Position p;
        for (const wchar_t c : text) p.add(c, columns);
        return std::pair(p.row, p.column);
    };
    CHECK(at(L"abc", 10) == std::pair<size_t, size_t>(0, 3));
    CHECK(at(L"0123456789", 10) == std::pair<size_t, size_t>(1, 0));
    CHECK(at(L"ab\nc", 10) == std::pair<size_t, size_t>(1, 1));
    CHECK(at(L"a\tb", 20) == std::pair<size_t, size_t>(0, 9));
    CHECK(rows_of("0123456789", 10) == 1);
    CHECK(rows_of("0123456789a", 10) == 2);
    CHECK(rows_of("\033[31m0123456789\033[0m", 10) == 1);
}

TEST_CASE("text that moves the cursor does not reach the terminal") {
    CHECK(harmless("a\033[31mb\033[0m\n\tc") == "a\033[31mb\033[0m\n\tc");
    CHECK(harmless("a\033[2Jb\007\r\033]0;t") == "a?[2Jb??]0;t");
    CHECK(harmless("\xc2\x9b"
                   "2J\xc3\xa9") == "?2J\xc3\xa9");
}

TEST_CASE("a second shows a screenful, and how much was left out") {
    constexpr uint64_t second = 1'000'000'000;
    Screen screen("-o FILE keeps all");
    screen.resize(10, 80);
    std::string many;
    for (int i = 0; i < 1000; i++) many += "line\n";
    screen.add(many, second);
    screen.add_message("told", second);
    const std::string shown = screen.take(second);
    CHECK(std::count(shown.begin(), shown.end(), '\n') == 7 + 1);
    CHECK(shown.ends_with("told\n"));
    CHECK(screen.take(second + second / 2).empty());
    CHECK(*screen.due(second + second / 2) == second / 2);
    CHECK(screen.take(2 * second) == "-- 1,000 lines/s, 993 left out (-o FILE keeps all, pause() holds)\n");
    CHECK(!screen.due(2 * second));

    SECTION("a line without an end waits for it, but no longer than a second") {
        screen.add("half", 3 * second);
        CHECK(screen.take(3 * second).empty());
        screen.add(" whole\nnext", 3 * second);
        CHECK(screen.take(3 * second) == "half whole\n");
        CHECK(screen.take(4 * second) == "next\n");
    }
    SECTION("while paused the last lines are kept") {
        screen.pause();
        screen.add(many + "last\n", 3 * second);
        CHECK(screen.take(3 * second).empty());
        screen.resume();
        const std::string held = screen.take(3 * second);
        CHECK(held.starts_with("-- 1,001 lines came while paused, 994 left out\n"));
        CHECK(held.ends_with("line\nlast\n"));
    }
}

TEST_CASE("history is kept by all who append to it") {
    const TempDir dir;
    const std::string path = dir / "state/history";
    constexpr int writers = 4, each = 200;
    for (int w = 0; w < writers; w++)
        if (::fork() == 0) {
            const History history(path);
            bool good = true;
            for (int i = 0; i < each; i++)
                good = good && history.add("writer " + std::to_string(w) + "\nof \\ " + std::to_string(i)).ok();
            ::_exit(good ? 0 : 1);
        }
    for (int w = 0; w < writers; w++) {
        int status = 1;
        ::wait(&status);
        CHECK(status == 0);
    }
    const auto inputs = History(path).load();
    REQUIRE(inputs);
    CHECK(inputs->size() == writers * each);
    CHECK(std::count(inputs->begin(), inputs->end(), "writer 2\nof \\ 7") == 1);
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);

    SECTION("a long file is shortened") {
        std::ofstream file(path, std::ios::app);
        for (int i = 0; i < 12000; i++) file << "more " << i << "\n";
        file.close();
        CHECK(History(path).load()->size() == 10000);
        CHECK(History(path).load()->back() == "more 11999");
        std::ifstream again(path);
        CHECK(std::count(std::istreambuf_iterator<char>(again), {}, '\n') == 10000);
    }
}

TEST_CASE("what is saved declares what is armed") {
    using State = Saved::State;
    Saved saved;
    saved.add({"n = count()", 0, 0});
    saved.add({"local f = function() end p = kprobe(\"a\", f)", 0, 1});
    saved.add({"q = probes[1]", 1, 0, true});
    CHECK(saved.script({State::On}) ==
          "-- Saved at the prompt of kprobe-lua.\nn = count()\ndo\nlocal f = function() end p = kprobe(\"a\", f)\nend\n"
          "-- the prompt's own: q = probes[1]\n");
    const std::string gone = saved.script({State::Gone});
    CHECK(gone.find("pick { \"gone\" }\ndo\nlocal f") != gone.npos);
}

TEST_CASE("the documents say something of each name, with an example") {
    for (const char* name :
         {"kprobe",  "kretprobe", "jprobe",   "count",  "hist",  "lhist",  "map",       "event",  "every",
          "at_exit", "exit",      "batch",    "pid",    "comm",  "task",   "now",       "kstack", "ustack",
          "str",     "ustr",      "path",     "sym",    "try",   "printf", "print",     "kaddr",  "kvar",
          "ntop",    "strftime",  "ffi.cast", "probes", "pause", "save",   "detach_all"}) {
        INFO(name);
        const auto text = Help::documented(name, 79);
        REQUIRE(text);
        CHECK(text->find("\n  ") != text->npos);
        CHECK(text->find('`') == text->npos);
    }
    CHECK(!Help::documented("no_such_name", 79));
}

TEST_CASE("help has a row for names that are members, and for both meanings of a name") {
    const auto first_line = [](const char* name) {
        const auto text = Help::documented(name, 400, Help::Rows::Defining);
        return text ? text->substr(0, text->find('\n')) : "";
    };
    CHECK(first_line("top").starts_with("map:top([n]): the n rows"));
    CHECK(first_line("copy").starts_with("batch:copy(i): a table to keep"));
    CHECK(first_line("data").starts_with("p.data.NAME: in a kretprobe"));
    CHECK(first_line("stats").starts_with("stats(): an aggregation"));
    CHECK(Help::documented("stats", 400)->find("\nprobe:stats(): the counts of a probe") != std::string::npos);
    CHECK(first_line("to").empty());
}

TEST_CASE("docs/reference.md has every method of what a script declares") {
    struct Names : SilentClient {
        std::vector<std::string> names;
        bool print(std::string_view text) override { return names.emplace_back(text.substr(0, text.find('\n'))), true; }
    } client;
    const auto session = Session::open({}, client);
    REQUIRE(session);
    REQUIRE((*session)->run_string(R"(
        local probe = kprobe("vfs_read", function() end)
        for _, object in ipairs { probe, batch { probe }, event(), count(), map() } do
          for name in pairs(getmetatable(object)) do if not name:find "^__" then print(name) end end
        end)",
                                   "methods", {}));
    CHECK(client.names.size() > 20);
    for (const std::string& name : client.names) {
        INFO(name);
        const auto text = Help::documented(name, 400, Help::Rows::Defining);
        REQUIRE(text);
        CHECK(text->find(":" + name + "(") != text->npos);
    }
}

TEST_CASE("docs/reference.md has every name that a script has beyond Lua's own") {
    std::ifstream file(KPL_DOCS "/reference.md");
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    struct Names : SilentClient {
        std::vector<std::string> names;
        bool print(std::string_view text) override { return names.emplace_back(text.substr(0, text.find('\n'))), true; }
    } client;
    const auto session = Session::open({}, client);
    REQUIRE(session);
    REQUIRE((*session)->run_string("for name in pairs(_G) do print(name) end", "names", {}));
    std::unique_ptr<lua_State, decltype(&lua_close)> plain(luaL_newstate(), lua_close);
    luaL_openlibs(plain.get());
    size_t own = 0;
    for (const std::string& name : client.names) {
        lua_getglobal(plain.get(), name.c_str());
        const bool is_lua = !lua_isnil(plain.get(), -1) && name != "print";
        lua_settop(plain.get(), 0);
        if (is_lua || name == "arg" || name == "ffi") continue;
        INFO(name);
        CHECK((page.find("`" + name + "(") != page.npos || page.find("`" + name + " {") != page.npos));
        own++;
    }
    CHECK(own > 40);
}
