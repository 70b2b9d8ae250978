// SPDX-License-Identifier: MIT
// The Lua side of the API against a session that only remembers what it was told.
#include "luahost/host.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "fake_script.hpp"
#include "temp_dir.hpp"

using namespace kpl;
using namespace kpl::test;

namespace {

struct FakeSession : FakeScript {
    std::vector<CallbackId> callbacks, exits;
    std::string output, last_control;
    int code = -1;

    Result<void> control(std::span<const uint32_t> ids, kpl_control_op op) override {
        last_control = std::to_string(ids.size()) + ":" + std::to_string(op);
        return {};
    }
    Result<ProbeStatus> status(uint32_t) override {
        ProbeStatus s;
        s.state = "ftrace";
        s.second_name = "returns";
        s.follows_calls = true;
        s.first.hits = uint64_t{1} << 60;
        s.second.missed = 7;
        s.outstanding = 2;
        s.dropped = 3;
        return s;
    }
    Result<std::vector<KeyedValue>> rows(uint32_t) override {
        AggValue two, nine;
        two.n = 2, nine.n = 9;
        return std::vector<KeyedValue>{{{std::string("sh")}, two}, {{std::string("cat")}, nine}};
    }
    Result<AggValue> value(uint32_t, const std::vector<Datum>& key) override {
        AggValue v;
        v.n = key.size();
        return v;
    }
    Result<void> clear(uint32_t) override { return Error{Errc::system, "no module"}; }
    Result<std::string> text(uint32_t) override { return std::string("drawn"); }
    std::string text_of(uint32_t, std::vector<KeyedValue> rows) override {
        return std::to_string(rows.size()) + " drawn";
    }
    std::string output_of(uint32_t, std::vector<KeyedValue> rows) override {
        return std::to_string(rows.size()) + " printed\n";
    }
    void emit(std::string_view text) override { output += text; }
    NamedValues stored;
    Datum key = int64_t{7};
    Result<std::vector<MapEntry>> entries(uint32_t) override {
        return std::vector<MapEntry>{{{key}, {int64_t{1}, std::string("x\n\ty")}}};
    }
    Result<std::optional<std::vector<Datum>>> get(uint32_t, const std::vector<Datum>& key) override {
        if (key.empty()) return std::optional<std::vector<Datum>>();
        return std::optional(std::vector<Datum>{int64_t{5}, std::string("y")});
    }
    Result<void> set(uint32_t, const std::vector<Datum>&, const NamedValues& value) override {
        stored = value;
        return {};
    }
    Result<bool> erase(uint32_t, const std::vector<Datum>&) override { return true; }
    void every(double, CallbackId callback) override { callbacks.push_back(callback); }
    void at_exit(CallbackId callback) override { exits.push_back(callback); }
    void exit(int c) override { code = c; }
    void write(std::string_view text) override { output += text; }
    bool direct = false;
    bool writes_directly() const override { return direct; }
};

struct Fixture {
    std::optional<LuaHost> host;  // closed after the session's references to its values are gone
    FakeSession session;
    Fixture() { host.emplace(LuaHost::create(session).value()); }
    Result<void> run(const std::string& code, std::vector<std::string> args = {}) {
        return host->run_string(code, "@script.lua", args);
    }
    std::string error(const std::string& code) {
        auto ran = run(code);
        return ran ? host->take_kept().text : ran.error().message();
    }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "declarations that are wrong are kept until the chunk ends, but under pcall") {
    REQUIRE(run(
        "count { most = 1 }\nlocal p = kprobe { 'x' } p:disable()\nraised = select(2, pcall(kprobe, 'x', 3))\nbatch { p }"));
    const LuaHost::KeptErrors kept = host->take_kept();
    CHECK(kept.text ==
          "script.lua:1: count has no option 'most'; it has: max\n"
          "script.lua:2: kprobe has no handler: pre = function(p) … end");
    CHECK_FALSE(kept.alone);  // of the map, handlers know nothing
    CHECK(host->take_kept().text.empty());
    CHECK(error("error(raised, 0)") == "script.lua:3: kprobe(target, fn): fn must be a function");
}

TEST_CASE_METHOD(Fixture, "declarations reach the session") {
    REQUIRE(run(R"(
        local n = count()
        kprobe("vfs_read", function() n:add() end)
        kretprobe { { "a", "b" }, maxactive = 20, entry = function() end, ret = function() end, when = { pid = 7, comm = "cat" } }
        jprobe("vfs_write", function(file) end)
        kprobe { 0xffffffff81000000ULL, post = function() end, enabled = false }
    )"));
    REQUIRE(session.probes.size() == 4);
    CHECK(session.unit.maps[0].kind == KPL_MAP_COUNT);
    CHECK(std::get<std::string>(session.probes[0].targets[0]) == "vfs_read");
    CHECK(session.probes[0].at == SourceLoc{"script.lua", 3});
    CHECK(session.probes[1].kind == ProbeKind::Kretprobe);
    CHECK(session.probes[1].targets.size() == 2);
    CHECK(session.probes[1].maxactive == 20);
    CHECK(session.probes[1].handlers[0]);
    CHECK(session.probes[1].handlers[1]);
    CHECK(session.probes[1].when.mask == (KPL_WHEN_PID | KPL_WHEN_COMM));
    CHECK(session.probes[1].when.pid == 7);
    CHECK(session.probes[2].kind == ProbeKind::Jprobe);
    CHECK(std::get<uint64_t>(session.probes[3].targets[0]) == 0xffffffff81000000u);
    CHECK_FALSE(session.probes[3].handlers[0]);
    CHECK(session.probes[3].handlers[1]);
    CHECK_FALSE(session.probes[3].enabled);
}

TEST_CASE_METHOD(Fixture, "wrong declarations are refused at the script's line") {
    const std::pair<const char*, const char*> rows[] = {
        {"kprobe()", "script.lua:1: kprobe(target, fn): fn must be a function"},
        {"\nkprobe('x', 3)", "script.lua:2: kprobe(target, fn): fn must be a function"},
        {"kprobe { 'x' }", "script.lua:1: kprobe has no handler: pre = function(p) … end"},
        {"kprobe { 'x', print }", "script.lua:1: kprobe{…}: the handler has a name: pre = function(p) … end"},
        {"kprobe { 'x', entry = print }",
         "script.lua:1: kprobe has no option 'entry'; it has: budget, enabled, fault, optional, post, "
         "pre, via, when"},
        {"kprobe { 'x', pre = 1 }", "script.lua:1: kprobe: 'pre' must be a function"},
        {"kprobe { 'x', prre = print, pre = print }",
         "script.lua:1: kprobe has no option 'prre'; it has: budget, enabled, fault, "
         "optional, post, pre, via, when"},
        {"kprobe({}, print)", "script.lua:1: kprobe needs a target"},
        {"kprobe(true, print)",
         "script.lua:1: kprobe: a target is \"symbol\", \"symbol+0x1a\", \"module:symbol\", an address, a glob, "
         "or a list of these"},
        {"kretprobe { 'x', ret = print, maxactive = -1 }",
         "script.lua:1: kretprobe: 'maxactive' must be a whole number up to 16,384"},
        {"kprobe { 'x', pre = print, when = { user = 1 } }",
         "script.lua:1: kprobe: when has no option 'user'; it has: cgroup, comm, "
         "cpu, pid, self, tid"},
        {"kprobe { 'x', pre = print, when = { comm = 'sixteen-bytes-xx' } }",
         "script.lua:1: when: comm 'sixteen-bytes-xx' is longer than the 15 bytes that the kernel keeps"},
        {"lhist(-9223372036854775807LL - 1, 9223372036854775807LL, 1)",
         "script.lua:1: lhist has at most 1022 steps: take a larger one"},
        {"lhist(0, 10, 3)",
         "script.lua:1: lhist(lo, hi, step): hi must be over lo by a multiple of step, and step over 0"},
        {"count(3)", "script.lua:1: count takes no argument, or a table such as { max = 10000 }"},
        {"count { 'x' }", "script.lua:1: count has no option '1'; it has: max"},
        {"map { 'int' }", "script.lua:1: map has no option '1'; it has: key, max, value"},
        {"event { a = 'int' }",
         "script.lua:1: event takes nothing, or the order of its fields: event{ \"pid\", \"comm\" }"},
        {"event():each(1)", "script.lua:1: each takes a function"},
        {"event()()", "script.lua:1: an event is sent by a handler; user space receives it: e:each(function(e) … end)"},
        {"count():add()", "script.lua:1: add is for handlers; user space reads with value and pairs"},
        {"pid()", "script.lua:1: pid() runs in a handler, at a probe hit"},
        {"every(0, print)", "script.lua:1: every(seconds, fn): seconds must be over 0"},
        {"exit(256)", "script.lua:1: exit takes a status from 0 to 255"},
        {"batch { 1 }", "script.lua:1: batch: element 1 is not a probe"},
    };
    for (const auto& [code, text] : rows) {
        CAPTURE(code);
        CHECK(error(code) == text);
    }
    CHECK(session.probes.size() == 0);
}

TEST_CASE_METHOD(Fixture, "an error of the script is one line with its place") {
    CHECK(error("local x = = 1").starts_with("script.lua:1: unexpected symbol near '='"));
    CHECK(error("\nnonesuch()") == "script.lua:2: 'nonesuch' is not defined");
    CHECK(error("\nkprob()") == "script.lua:2: 'kprob' is not defined (did you mean kprobe, jprobe or uprobe?)");
    CHECK(error("print(nsecs + 1)") == "script.lua:1: 'nsecs' is not defined: bpftrace's nsecs is now()");
    CHECK(error("local t = nil; t.x = 1") == "script.lua:1: attempt to index local 't' (a nil value)");
    CHECK(error("error({})") == "error object is table");
    CHECK(error("\ncount():clear()") == "script.lua:2: no module");
    CHECK(error("printf('%d', 'x')").starts_with("script.lua:1: bad argument #2 to 'printf'"));
}

TEST_CASE_METHOD(Fixture, "a script's name moves no cursor in its errors") {
    const auto text = [&](const char* code) {
        auto ran = host->run_string(code, "@a\033[2J\n.lua", {});
        return ran ? host->take_kept().text : ran.error().message();
    };
    CHECK(text("BEGIN { printf(\"x\"); }").starts_with("a?[2J?.lua:1: this is written for bpftrace"));
    CHECK(text("error('\\27')").starts_with("a?[2J"));
    for (const char* code : {"error('\\27')", "x =", "count { most = 1 }"})
        CHECK(text(code).find('\033') == std::string::npos);
}

TEST_CASE_METHOD(Fixture, "errors of callbacks tell how it came to them") {
    REQUIRE(
        run("local function deep(t) return t.x.y + 1 end\nlocal function show() local n = deep {} return n end\n"
            "every(1, function()\n  show()\n  return 1\nend)\nevery(1, function() error({}) end)"));
    const auto text = [&](size_t n) { return host->call(session.callbacks.at(n)).error().message(); };
    CHECK(
        text(0) ==
        "script.lua:1: attempt to index field 'x' (a nil value)\nstack traceback:\n    script.lua:1: in function 'deep'\n"
        "    script.lua:2: in function 'show'\n    script.lua:4: in the function of line 3");
    CHECK(text(1) == "error object is table\nstack traceback:\n    script.lua:7: in the function of line 7");
}

TEST_CASE_METHOD(Fixture, "scripts of other tracers are recognised") {
    CHECK(error("kprobe:vfs_read { @[comm] = count(); }")
              .starts_with("script.lua:1: this is written for bpftrace; here scripts are Lua"));
    CHECK(error("BEGIN { printf(\"x\"); }").starts_with("script.lua:1: this is written for bpftrace"));
    CHECK(error("interval:s:1 { print(@); }").starts_with("script.lua:1: this is written for bpftrace"));
}

TEST_CASE("print and printf give the same by a call of the FFI, compiled too") {
    for (const bool direct : {false, true}) {
        FakeSession session;
        session.direct = direct;
        LuaHost host = LuaHost::create(session).value();
        REQUIRE(host.run_string("print() print(nil) print('a\\0b', 7, true) printf('%d|%s\\n', 3, 'x')", "=t", {}));
        CHECK(session.output == "\nnil\na?b\t7\ttrue\n3|x\n");
        session.output.clear();
        REQUIRE(host.run_string("for i = 1, 1000 do print(i, 'x', -1.5) end", "=t", {}));
        std::string all;
        for (int i = 1; i <= 1000; i++) all += std::to_string(i) + "\tx\t-1.5\n";
        CHECK(session.output == all);
        session.output.clear();
        REQUIRE(host.run_string("local many = {} for i = 1, 5000 do many[i] = 'x' end print(unpack(many))", "=t", {}));
        CHECK(session.output.size() == 10000);
        session.output.clear();
        REQUIRE(host.run_string(
            "for i = 1, 1000 do printf('\033%d%s%5.1f|%s\\n', i, 'x\\27\\t\\n', -1.5, '\xc2\x9b') end", "=t", {}));
        all.clear();
        for (int i = 1; i <= 1000; i++) all += "\033" + std::to_string(i) + "x?\t\n -1.5|?\n";
        CHECK(session.output == all);
        session.output.clear();
        REQUIRE(host.run_string(
            "local many = {} for i = 1, 5000 do many[i] = '\\1' end printf(('%s'):rep(5000), unpack(many))", "=t", {}));
        CHECK(session.output == std::string(5000, '?'));
    }
}

TEST_CASE("modules lie beside a script and where one has said, never in the current directory") {
    TempDir here, own;
    here.write("jit/vmdef.lua", "ran = true return { bcnames = '' }");
    here.write("beside.lua", "return 'planted'");
    own.write("beside.lua", "return 'own'");
    own.write("script.lua", "assert(not ran and not pcall(require, 'planted')) print(require 'beside')");
    here.write("planted.lua", "return 1");
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(here.path());
    FakeSession session;
    auto host = LuaHost::create(session);
    REQUIRE(host);
    CHECK(host->run_file(own / "script.lua", {}));
    CHECK(session.output == "own\n");
    host->add_search_dir(here.path());
    CHECK(host->require_module("planted"));
    std::filesystem::current_path(before);
}

TEST_CASE("modules that refuse globals or take away what require needs end nothing") {
    TempDir own;
    own.write("refuses.lua",
              "setmetatable(_G, { __newindex = function() error 'no' end, __index = function() error 'no' end })");
    own.write("takes.lua", "package.path = nil package = nil require = nil");
    for (const char* module : {"refuses", "takes"}) {
        FakeSession session;
        auto host = LuaHost::create(session);
        REQUIRE(host);
        host->add_search_dir(own.path());
        CHECK(host->require_module(module));
        host->add_search_dir(own.path(), true);
        CHECK(host->run_string("print(arg[1])", "=-e", std::vector<std::string>{"one"}));
        CHECK(session.output == "one\n");
        CHECK((host->require_module("none").ok()) == false);
    }
}

TEST_CASE_METHOD(Fixture, "arguments, output and the end") {
    REQUIRE(run("print(arg[0], arg[1], ...) printf('%03d\\n', 7) exit(3)", {"one"}));
    CHECK(session.output == "-e\tone\tone\n007\n");
    CHECK(session.code == 3);
}

TEST_CASE_METHOD(Fixture, "captured values are what the compiler sees") {
    REQUIRE(run(R"(
        local n, opens, limit, name, helper, cfg = count(), event(), 12, "x", function() end, { port = 80, deep = { on = true } }
        kprobe("f", function() return n, opens, limit, name, helper, cfg, 5LL end)
    )"));
    const FunctionRef& f = *session.probes[0].handlers[0];
    REQUIRE(f.proto());
    CHECK(std::get<MapRef>(f.upvalue(0)).id == 0);
    CHECK(session.unit.maps[0].name == "n");
    CHECK(std::get<EventRef>(f.upvalue(1)).id == 0);
    CHECK(std::get<double>(f.upvalue(2)) == 12);
    CHECK(std::get<std::string>(f.upvalue(3)) == "x");
    CHECK(std::get<FunctionPtr>(f.upvalue(4))->proto());
    auto table = std::get<std::shared_ptr<const TableRef>>(f.upvalue(5));
    CHECK(std::get<double>(table->get("port")) == 80);
    auto deep = std::get<std::shared_ptr<const TableRef>>(table->get("deep"));
    CHECK(std::get<bool>(deep->get("on")));
    CHECK(std::holds_alternative<Nil>(table->get("absent")));
}

TEST_CASE_METHOD(Fixture, "globals of handlers are known by identity") {
    REQUIRE(run("kprobe('f', function() end)"));
    const FunctionRef& f = *session.probes[0].handlers[0];
    for (const char* name : {"pid", "now", "print", "printf", "tostring", "exit"}) {
        CAPTURE(name);
        CHECK(std::get<BuiltinRef>(f.global(name)).name == name);
    }
    auto bit = std::get<std::shared_ptr<const TableRef>>(f.global("bit"));
    CHECK(std::get<BuiltinRef>(bit->get("band")).name == "bit.band");
    auto ffi = std::get<std::shared_ptr<const TableRef>>(f.global("ffi"));
    CHECK(std::get<BuiltinRef>(ffi->get("cast")).name == "ffi.cast");
    CHECK(std::holds_alternative<Nil>(f.global("nonesuch")));
}

TEST_CASE_METHOD(Fixture, "64-bit integers and cdata") {
    REQUIRE(run("i, u, s, c = -5LL, 0xffffffffffffffffULL, 'a', ffi.typeof('int[2]') kprobe('f', function() end)"));
    const FunctionRef& f = *session.probes[0].handlers[0];
    CHECK(std::get<int64_t>(f.global("i")) == -5);
    CHECK(std::get<uint64_t>(f.global("u")) == UINT64_MAX);
    CHECK(std::holds_alternative<OpaqueRef>(f.global("c")));
}

TEST_CASE_METHOD(Fixture, "maps are read from scripts") {
    REQUIRE(run(R"(
        local m = count()
        for k, v in m:pairs() do print(k, v) end
        print(m:value(), m:value("x"), m:value { 1, "y" })
        print(m:top(1)[1].key, #m:top(1), m)
        local old = m:take()
        print(old:value("cat"), old:value("none"), old:top(1)[1].key, #old:top(), old)
        for k, v in old:pairs() do print(k, v) end
        print(m) print(old) print(m, 1) print(nil)
    )"));
    CHECK(
        session.output ==
        "sh\t2\ncat\t9\n0\t1\t2\ncat\t1\tdrawn\n9\t0\tcat\t2\t2 drawn\nsh\t2\ncat\t9\n2 printed\n2 printed\ndrawn\t1\nnil\n");
}

TEST_CASE_METHOD(Fixture, "shared maps are read and written from scripts") {
    REQUIRE(run("m = map()"));
    session.unit.maps[0].struct_value = true;
    session.unit.maps[0].value.fields.resize(2);
    session.unit.maps[0].value.fields[0].name = "at";
    session.unit.maps[0].value.fields[1].name = "who";
    REQUIRE(run(R"(
        print(m:get(1).at, m:get(1).who, m:get(nil), m:delete(1), m)
        m:set(1, { at = 3 })
    )"));
    CHECK(session.output == "5\ty\tnil\ttrue\t[7]: { at = 1, who = x??y }\n");
    REQUIRE(session.stored.size() == 1);
    CHECK(session.stored[0].first == "at");
    CHECK(std::get<int64_t>(session.stored[0].second) == 3);
    session.output.clear();
    session.key = std::string("a\t\n[1]: b\033");
    REQUIRE(run("print(m, 1)"));
    session.key = StackDatum{{{1, "f", 0}, {2, "g", 0}}, true, 0};
    REQUIRE(run("print(m, 1)"));
    CHECK(session.output == "[a??[1]: b?]: { at = 1, who = x??y }\t1\n[f, g]: { at = 1, who = x??y }\t1\n");
    CHECK(error("m:set(1, { 3 })") == "script.lua:1: a struct value has named fields: { at = 1 }");
}

TEST_CASE_METHOD(Fixture, "probe objects") {
    REQUIRE(run(R"(
        local p = kretprobe { "f", ret = function() end }
        local g = batch { p, kprobe("g", function() end) }
        g:disable()
        print(p.state, p:stats().hits, p:stats().dropped, p:stats().returns.missed, p:stats().returns.outstanding, g.enabled)
    )"));
    CHECK(session.last_control == "2:0");
    session.output.clear();
    REQUIRE(run("print(kprobe { { 'a', 'b+0x4', 0xffffffff81000010ULL }, post = function() end })"));
    CHECK(session.output == "kprobe a, b+0x4, 0xffffffff81000010 (ftrace)\n");
    session.output = "ftrace\t1152921504606846976ULL\t3\t7\t2\tfalse\n";
    CHECK(session.output == "ftrace\t1152921504606846976ULL\t3\t7\t2\tfalse\n");
}

TEST_CASE_METHOD(Fixture, "an error in a callback has the script's place") {
    REQUIRE(run("at_exit(function()\n error('no') end)"));
    auto called = host->call(session.exits[0]);
    REQUIRE_FALSE(called);
    CHECK(called.error().message() ==
          "script.lua:2: no\nstack traceback:\n    script.lua:2: in the function of line 1");
}
