// SPDX-License-Identifier: MIT
// From rings to callbacks: order, decoding, batches, and that every record is accounted for.
#include "session/delivery.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <set>

#include "fake_script.hpp"
#include "made_rings.hpp"

using namespace kpl;
using namespace std::string_literals;

namespace {

constexpr uint32_t ring_bytes = 16384;

FieldLayout field(std::string name, FieldKind kind, uint32_t offset, bool nilable = false) {
    FieldLayout f;
    f.name = std::move(name), f.kind = kind, f.offset = offset, f.limit = 255, f.nilable = nilable;
    return f;
}

struct Script : test::FakeScript {
    std::string output;
    Delivery* delivery = nullptr;
    void write(std::string_view text) override { output += text; }
    void exit(int) override { delivery->stop(); }
};

struct Fixture {
    Script script;
    std::vector<std::unique_ptr<test::MadeRing>> rings;
    std::optional<LuaHost> host;
    std::optional<Delivery> delivery;

    explicit Fixture(size_t cpus = 2, RecordTaker* taker = nullptr) {
        host.emplace(LuaHost::create(script).value());
        std::vector<Rings::Memory> memory;
        for (size_t i = 0; i < cpus; i++) {
            rings.push_back(std::make_unique<test::MadeRing>(ring_bytes));
            memory.push_back(rings.back()->memory());
        }
        delivery.emplace(
            Rings(std::move(memory), ring_bytes),
            Delivery::Parts{
                *host, script.unit, script.values, [this](std::string_view text) { script.write(text); }, {}, taker});
        script.delivery = &*delivery;
    }
    ~Fixture() { delivery.reset(); }

    // Runs the script; all its events have the one field `n`.
    void run(const std::string& code) {
        auto ran = host->run_string(code, "@script.lua", {});
        if (!ran) FAIL(ran.error().message());
        for (EventDecl& event : script.unit.events) {
            event.record.fields = {field("n", FieldKind::I64, 0)};
            event.record.size = 8;
        }
    }
    void send(size_t cpu, uint32_t event, uint64_t time, uint64_t n) {
        REQUIRE(rings[cpu]->send(event, time, record(event, n)));
    }
    std::vector<char> record(uint32_t event, uint64_t n) {
        return test::MadeRecord(script.unit.events[event].record).number(0, n).bytes();
    }
    // What is in the rings and neither delivered nor lost.
    uint64_t left() {
        const RingCounts counts = delivery->rings().counts();
        return counts.sent - counts.lost - delivery->delivered();
    }
};

}  // namespace

namespace {

// A program's consumer that wants the drain to end behind some records.
struct Taker : RecordTaker {
    std::vector<uint64_t> times;
    std::set<uint64_t> halts;
    bool take(const kpl_rec& record, uint32_t) override {
        times.push_back(record.time);
        return !halts.contains(record.time);
    }
};

}  // namespace

// The script's error ends the drain behind its record; the program, which is ahead of it, gets nothing twice.
TEST_CASE("a program and a script both get each record once") {
    Taker taker;
    taker.halts = {6};
    Fixture f(2, &taker);
    f.run("e = event(); e:each(function(r) print(r.n); if r.n % 3 == 0 then error 'third' end end)");
    for (uint64_t n = 1; n <= 10; n++) f.send(n % 2, 0, n, n);
    size_t errors = 0;
    for (int turn = 0; turn < 10; turn++) {
        const auto drained = f.delivery->drain_all();
        errors += !drained;
    }
    CHECK(errors == 3);
    CHECK(taker.times == std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    CHECK(f.script.output == "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
    CHECK(f.delivery->delivered() == 10);
    CHECK(f.left() == 0);
}

TEST_CASE_METHOD(Fixture, "records come in time order across CPUs") {
    run("e = event(); e:each(function(r) print(r.n, r.time, r.cpu) end)");
    send(0, 0, 10, 1), send(0, 0, 40, 4), send(0, 0, 50, 5);
    send(1, 0, 20, 2), send(1, 0, 30, 3), send(1, 0, 60, 6);
    CHECK(delivery->drain_all().value() == 6);
    CHECK(script.output == "1\t10\t0\n2\t20\t1\n3\t30\t1\n4\t40\t0\n5\t50\t0\n6\t60\t1\n");
    CHECK(left() == 0);
}

TEST_CASE("many CPUs, many records") {
    Fixture f(9);
    f.run(
        "last, count = 0, 0; e = event(); e:each(function(r) assert(r.time >= last and r.n == r.time); last = r.time; count = count + 1 end)");
    uint64_t time = 0, sent = 0;
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 2000; i++, time++, sent++) f.send((time * time + 3 * time) / 7 % 9, 0, time, time);
        CHECK(f.delivery->drain_all().value() == 2000);
    }
    f.run("print(count)");
    CHECK(f.script.output == std::to_string(sent) + "\n");
}

TEST_CASE_METHOD(Fixture, "a record that is being written holds back younger ones") {
    run("e = event(); e:each(function(r) print(r.n) end)");
    send(0, 0, 10, 1);
    REQUIRE(rings[0]->begin(0, 20, record(0, 2)));
    send(1, 0, 5, 0);
    send(1, 0, 30, 3);
    CHECK(delivery->drain(1000000).value() == 2);
    CHECK(!delivery->unfinished());
    rings[0]->head().head = rings[0]->head().reserved_head;
    CHECK(delivery->drain(1000000).value() == 2);
    CHECK(script.output == "0\n1\n2\n3\n");
}

TEST_CASE_METHOD(Fixture, "room is freed while a drain goes on") {
    run("e = event(); e:each(function() end)");
    while (rings[0]->send(0, 1, record(0, 1))) {
    }
    CHECK(rings[0]->head().lost == 1);
    delivery->drain_all().value();
    CHECK(rings[0]->control().tail == rings[0]->head().head);
    CHECK(left() == 0);
}

TEST_CASE_METHOD(Fixture, "events and prints are one stream") {
    run("a, b = event(), event(); a:each(function(r) print('a' .. r.n) end); b:each(function(r) print('b' .. r.n) end)");
    PrintfDecl print;
    print.is_print = true;
    print.record = script.unit.events[0].record;
    script.unit.printfs.push_back(print);
    send(0, 0, 1, 1), send(0, 1, 2, 2), send(0, 0, 4, 4);
    REQUIRE(rings[1]->send(kpl_printf_event, 3, record(0, 3)));
    CHECK(delivery->drain_all().value() == 4);
    CHECK(script.output == "a1\nb2\n3\na4\n");
}

TEST_CASE_METHOD(Fixture, "every kind of value") {
    run("e = event(); e:each(function(r) last = r end); e:each_batch(function(b) copy = b:copy(1); view = b[1]"
        "  for _, name in ipairs { 'i', 'u', 'b', 'p', 's', 't', 'k', 'm', 'gone', 'w', 'x' } do"
        "    print(name, copy[name], last[name]); assert(tostring(view[name]) == tostring(copy[name])) end"
        "  print(view.time, last.time, last.cpu, view.none) end)");
    Layout& layout = script.unit.events[0].record;
    layout.fields = {
        field("i", FieldKind::I64, 0),      field("u", FieldKind::U64, 8),     field("b", FieldKind::Bool, 16),
        field("p", FieldKind::Pointer, 24), field("s", FieldKind::String, 32), field("t", FieldKind::String, 40, true),
        field("k", FieldKind::Kstack, 48),  field("m", FieldKind::Symbol, 56), field("gone", FieldKind::I64, 64, true),
        field("time", FieldKind::I64, 72),  field("w", FieldKind::Ustack, 88), field("x", FieldKind::UserSymbol, 96)};
    layout.size = 104;
    layout.presence_offset = 80;
    test::MadeRecord made(layout);
    made.number(0, static_cast<uint64_t>(-5)).number(1, uint64_t{1} << 63).number(2, 1).number(3, 0xffff888000001000);
    made.string(4, std::string_view("a\0\xff", 3))
        .stack(6, {0xffffffff81000000, 0x10})
        .number(7, 0xffffffff81000001)
        .number(9, 77)
        .stack(10, {uint64_t{3} << 40, 0x7f0000000010, 0x20})
        .stack(11, {uint64_t{3} << 40, 0x400000});
    REQUIRE(rings[1]->send(0, 5, made.bytes()));
    CHECK(delivery->drain_all().value() == 1);
    const std::string expected =
        "i\t-5\t-5\n"
        "u\t9223372036854775808ULL\t9223372036854775808ULL\n"
        "b\ttrue\ttrue\n"
        "p\t0xffff888000001000\t0xffff888000001000\n"
        "s\ta?\xff\ta?\xff\n"
        "t\tnil\tnil\n"
        "k\t\n    0xffffffff81000000\n    0x10\t\n    0xffffffff81000000\n    0x10\n"
        "m\t0xffffffff81000001\t0xffffffff81000001\n"
        "gone\tnil\tnil\n"
        "w\t\n    0x7f0000000010\n    0x20\t\n    0x7f0000000010\n    0x20\n"
        "x\t0x400000\t0x400000\n"
        "77\t77\t1\tnil\n"s;
    CHECK(script.output == expected);
}

TEST_CASE_METHOD(Fixture, "an event prints its fields in their order, without those that it lacks") {
    run("e = event(); e:each(function(r) print(r) end); e:each_batch(function(b) print(b[1], b:copy(1)) end)");
    Layout& layout = script.unit.events[0].record;
    layout.fields = {field("z", FieldKind::I64, 0), field("gone", FieldKind::I64, 8, true),
                     field("a", FieldKind::String, 16)};
    layout.size = 32;
    layout.presence_offset = 24;
    test::MadeRecord made(layout);
    made.number(0, 200000000000000).string(2, "x\n\ty");
    REQUIRE(rings[0]->send(0, 5, made.bytes()));
    CHECK(delivery->drain_all().value() == 1);
    const std::string one = "{ z = 200000000000000, a = x??y }";
    CHECK(script.output == one + "\n" + one + "\t" + one + "\n");
}

TEST_CASE_METHOD(Fixture, "integers are numbers where a double is exact") {
    run("e = event(); e:each(function(r) print(type(r.n), r.n, ('%d'):format(r.n)) end)");
    const int64_t exact = int64_t{1} << 53;
    uint64_t time = 0;
    for (int64_t n : {exact - 1, exact, exact + 1, -exact + 1, -exact - 1, INT64_MIN, int64_t{0}})
        send(0, 0, ++time, static_cast<uint64_t>(n));
    CHECK(delivery->drain_all().value() == 7);
    CHECK(script.output ==
          "number\t9007199254740991\t9007199254740991\n"
          "cdata\t9007199254740992LL\t9007199254740992\n"
          "cdata\t9007199254740993LL\t9007199254740993\n"
          "number\t-9007199254740991\t-9007199254740991\n"
          "cdata\t-9007199254740993LL\t-9007199254740993\n"
          "cdata\t-9223372036854775808LL\t-9223372036854775808\n"
          "number\t0\t0\n");
}

TEST_CASE_METHOD(Fixture, "what `each` gives stays valid; batches do not mix") {
    run("a, b, kept = event(), event(), {}; a:each(function(r) kept[#kept + 1] = r end)"
        "a:each_batch(function(x) print('a', #x, x[1].n, x[#x].n, x[0], x[#x + 1]) end)"
        "b:each_batch(function(x) local s = 0; for i, r in x:iter() do s = s + r.n * i end print('b', #x, s) end)");
    for (uint64_t i = 1; i <= 100; i++) send(i % 2, i % 4 == 0, i, i);
    CHECK(delivery->drain_all().value() == 100);
    for (uint64_t i = 1; i <= 300; i++) send(0, 0, 1000 + i, 5000);
    script.output.clear();
    CHECK(delivery->drain_all().value() == 300);
    run("for i = 1, 75 do assert(kept[i].n < 101 and kept[i].n % 4 ~= 0) end print(#kept)");
    CHECK(script.output.ends_with("375\n"));
}

TEST_CASE_METHOD(Fixture, "a subscriber that comes later") {
    run("e = event(); once = true; e:each(function(r) print('one', r.n) if once then once = false"
        "  e:each(function(r) print('two', r.n) end) end end)");
    for (uint64_t i = 1; i <= 2; i++) send(0, 0, i, i);
    CHECK(delivery->drain_all().value() == 2);
    CHECK(script.output == "one\t1\none\t2\ntwo\t2\n");
}

TEST_CASE_METHOD(Fixture, "an error of one callback keeps no record from the others") {
    run("e = event(); e:each(function(r) if r.n == 2 then error('no ' .. r.n) end end)"
        "e:each(function(r) print('second', r.n) end)");
    for (uint64_t i = 1; i <= 3; i++) send(0, 0, i, i);
    const auto drained = delivery->drain_all();
    REQUIRE(!drained.ok());
    CHECK(drained.error().message() == "script.lua:1: no 2\nstack traceback:\n    script.lua:1: in function 'fn'");
    CHECK(delivery->drain_all().value() == 1);
    CHECK(script.output == "second\t1\nsecond\t2\nsecond\t3\n");
}

TEST_CASE_METHOD(Fixture, "a view that is kept is of no record") {
    run("e = event(); e:each_batch(function(b) kept = b[1]; print(kept.n); if kept.n == 2 then error 'x' end end)"
        "function look() print(pcall(function() return kept.n end)) end");
    for (uint64_t i = 1; i <= 2; i++) {
        send(0, 0, i, i);
        CHECK(delivery->drain_all().ok() == (i == 1));
        run("look()");
    }
    CHECK(script.output.starts_with("1\nfalse\tscript.lua:1: this record is gone"));
    CHECK(script.output.find("\n2\nfalse\tscript.lua:1: this record is gone") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "what a script gives the names of Lua's functions is its own matter") {
    run("next, type, tostring, ipairs = 5, 'w', nil, nil; table, string, math = {}, nil, 7"
        " e = event(); e:each(function(r) print(r.n) end); e:each_batch(function(b) print(#b, b[1].n) end)");
    send(0, 0, 1, 1);
    CHECK(delivery->drain_all().value() == 1);
    CHECK(script.output == "1\n1\t1\n");
}

TEST_CASE_METHOD(Fixture, "fields that come with another layout are read by it") {
    run("e = event(); e:each(function(r) print(r.n, r.m) end); e:each_batch(function(b) print(#b, b[1].n, b[1].m) end)");
    script.unit.events[0].record = Layout();  // of a step that was undone
    script.unit.events[0].record.size = 8;
    REQUIRE(rings[0]->send(0, 1, std::vector<char>(8)));
    CHECK(delivery->drain_all().value() == 1);
    script.unit.events[0].record.fields = {field("n", FieldKind::I64, 0), field("m", FieldKind::I64, 8)};
    script.unit.events[0].record.size = 16;
    host->forget_layouts();
    REQUIRE(rings[0]->send(0, 2, test::MadeRecord(script.unit.events[0].record).number(0, 5).number(1, 6).bytes()));
    CHECK(delivery->drain_all().value() == 1);
    CHECK(script.output == "nil\tnil\n1\tnil\tnil\n5\t6\n1\t5\t6\n");
}

TEST_CASE_METHOD(Fixture, "subscriptions end whole while ^C stops the script") {
    run("for i = 1, 300 do event():each(print) end");
    host->interrupt();
    host->unsubscribe(0);
    CHECK(host->subscriptions() == 0);
    const auto stopped = host->run_string("jit.off() while true do end", "=loop", {});
    host->calm();
    REQUIRE(!stopped);
    CHECK(stopped.error().message().find("interrupted") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "an error ends the drain; the next one goes on behind its record") {
    run("e = event(); e:each(function(r) if r.n == 3 then error('no ' .. r.n) end end)");
    for (uint64_t i = 1; i <= 10; i++) send(0, 0, i, i);
    auto drained = delivery->drain_all();
    REQUIRE(!drained.ok());
    CHECK(drained.error().message() == "script.lua:1: no 3\nstack traceback:\n    script.lua:1: in function 'fn'");
    CHECK(delivery->delivered() == 3);
    CHECK(left() == 7);
    CHECK(delivery->drain_all().value() == 7);
    CHECK(left() == 0);
}

TEST_CASE_METHOD(Fixture, "subscriptions that are taken back end; those before go on") {
    run("e, f = event(), event(); e:each_batch(function(b) print('first', #b) end)");
    const size_t before = host->subscriptions();
    run("e:each(function(r) print('second', r.n) end); f:each(print)");
    CHECK(host->subscriptions() == before + 2);
    send(0, 0, 1, 1);
    CHECK(delivery->drain_all().value() == 1);
    host->unsubscribe(before);
    CHECK(host->subscriptions() == before);
    send(0, 0, 2, 2);
    send(0, 1, 3, 3);
    CHECK(delivery->drain_all().value() == 2);
    CHECK(script.output == "second\t1\nfirst\t1\nfirst\t1\n");
}

TEST_CASE_METHOD(Fixture, "exit() in a callback is the last record") {
    run("e = event(); e:each(function(r) print(r.n) if r.n == 4 then exit() end end)"
        "e:each(function(r) print('second', r.n) end); e:each_batch(function(b) print('batch') end)");
    for (uint64_t i = 1; i <= 10; i++) send(0, 0, i, i);
    CHECK(delivery->drain_all().value() == 1);  // the others were to be delivered with their batch
    CHECK(left() == 9);
    CHECK(script.output == "1\nsecond\t1\n2\nsecond\t2\n3\nsecond\t3\n4\n");
}

TEST_CASE_METHOD(Fixture, "batches count as delivered when they are handed on") {
    run("a, b = event(), event(); a:each_batch(function(x) error('no') end); b:each_batch(function() print('b') end)");
    for (uint64_t i = 1; i <= 10; i++) send(0, i % 2, i, i);
    CHECK(!delivery->drain_all().ok());
    CHECK(delivery->delivered() == 10);
    CHECK(left() == 0);
    CHECK(script.output == "b\n");
}

TEST_CASE_METHOD(Fixture, "an error of one callback leaves the batches of others to them") {
    run("a, b, c = event(), event(), event(); a:each(function(x) if x.n == 5 then error('no') end end)"
        "b:each_batch(function(x) print('b', #x) error('neither') end); c:each_batch(function(x) print('c', #x) end)");
    for (uint64_t i = 1; i <= 9; i++) send(0, i % 3 == 2 ? 0 : i % 3 ? 1 : 2, i, i);
    const auto first = delivery->drain_all();
    REQUIRE(!first.ok());
    CHECK(first.error().text.find("no\n") != std::string::npos);
    CHECK(delivery->delivered() == 5);
    CHECK(script.output == "b\t2\nc\t1\n");
    CHECK(!delivery->drain_all().ok());
    CHECK(script.output == "b\t2\nc\t1\nb\t1\nc\t2\n");
    CHECK(left() == 0);
    CHECK(delivery->drain_all().value() == 0);
}

TEST_CASE_METHOD(Fixture, "a slow callback gives the loop its turn") {
    run("e = event(); e:each(function() local t = now() while now() - t < 1000000 do end end)");
    for (uint64_t i = 1; i <= 400; i++) send(0, 0, i, i);
    const size_t first = delivery->drain(1000000).value();
    CHECK(first < 400);
    CHECK(delivery->unfinished());
}

TEST_CASE_METHOD(Fixture, "events that nobody takes are delivered to nobody") {
    run("e = event()");
    send(0, 0, 1, 1);
    CHECK(delivery->drain_all().value() == 1);
    CHECK(left() == 0);
}

TEST_CASE_METHOD(Fixture, "more fields than a function has locals") {
    run("e = event(); e:each(function(r) local s = 0 for i = 1, 230 do s = s + r['f' .. i] end print(s) end)");
    Layout& layout = script.unit.events[0].record;
    layout.fields.clear();
    for (uint32_t i = 0; i < 230; i++)
        layout.fields.push_back(field("f" + std::to_string(i + 1), FieldKind::I64, i * 8));
    layout.size = 230 * 8;
    test::MadeRecord made(layout);
    for (size_t i = 0; i < 230; i++) made.number(i, i + 1);
    REQUIRE(rings[0]->send(0, 1, made.bytes()));
    CHECK(delivery->drain_all().value() == 1);
    CHECK(script.output == "26565\n");
}

// Long enough for LuaJIT to have compiled the way of a record.
TEST_CASE_METHOD(Fixture, "compiled: exit() is the last record, wherever it comes") {
    run("n = 0; e = event(); e:each(function(r) n = n + 1 if r.n == 1501 then exit() end end)");
    for (uint64_t i = 1; i <= 2000; i++) {
        send(0, 0, i, i);
        if (i % 250 == 0) delivery->drain_all().value();
    }
    run("print(n)");
    CHECK(script.output == "1501\n");
    CHECK(delivery->delivered() == 1501);
    CHECK(left() == 499);
}

TEST_CASE_METHOD(Fixture, "compiled: fields that come and go, numbers of both kinds") {
    run("there, sum, strings, e = 0, 0, {}, event()"
        " local function take(r) if r.n then there = there + 1 sum = sum + tonumber(r.n % 1000LL) end"
        "   if r.s then strings[r.s] = (strings[r.s] or 0) + 1 end end"
        " e:each(take) e:each_batch(function(b) for i, r in b:iter() do take(r) end end)");
    Layout& layout = script.unit.events[0].record;
    layout.fields = {field("n", FieldKind::U64, 0, true), field("s", FieldKind::String, 8, true)};
    layout.size = 24;
    layout.presence_offset = 16;
    uint64_t expected = 0, there = 0, named = 0;
    for (uint64_t i = 0; i < 3000; i++) {
        test::MadeRecord record(layout);
        if (i % 3)
            record.number(0, (i % 5 ? 0 : uint64_t{1} << 60) + i % 7), there++,
                expected += ((i % 5 ? 0 : uint64_t{1} << 60) + i % 7) % 1000;
        if (i % 4) record.string(1, i % 8 ? "some" : "other"), named++;
        REQUIRE(rings[i % 2]->send(0, i, record.bytes()));
        if (i % 100 == 99) CHECK(delivery->drain_all().value() == 100);
    }
    run("print(there, sum, strings.some + (strings.other or 0))");
    CHECK(script.output ==
          std::to_string(2 * there) + "\t" + std::to_string(2 * expected) + "\t" + std::to_string(2 * named) + "\n");
}
