// SPDX-License-Identifier: MIT
// The C++ header as a program uses it. usage: library_cpp_test host|all
#include <kprobe-lua.hpp>

#include <sys/resource.h>
#include <cstdio>
#include <cstring>
#include <stdexcept>

using namespace kprobe_lua;

namespace {

int failed = 0;

#define CHECK(condition)                                                \
    do {                                                                \
        if (!(condition)) {                                             \
            failed++;                                                   \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
        }                                                               \
    } while (0)

// What `body` throws.
template <class Body>
std::string thrown(Body&& body) {
    try {
        body();
    } catch (const std::exception& e) {
        return e.what();
    }
    return "";
}

void moved_and_throwing() {
    std::string text;
    Callbacks callbacks;
    callbacks.text = [&](std::string_view more) {
        if (more == "throw\n") throw std::runtime_error("from the text callback");
        text += more;
        return true;
    };
    Session first(callbacks);
    CHECK(first.opened());
    CHECK(first.set("verbose", "1"));
    const Status unknown = first.set("bufer", "1M");
    CHECK(!unknown && unknown.number() == KLUA_ERR_NOT_FOUND && unknown.text().find("no option 'bufer'") == 0);
    CHECK(first.load("print 'one'"));
    Session second(std::move(first));
    CHECK(second.load("print(arg[1])", "two", {"two"}));
    CHECK(text == "one\ntwo\n");
    const Status wrong = second.load("kprobe(1)");
    CHECK(!wrong && wrong.number() == KLUA_ERR_SCRIPT && wrong.text().find("script:1: ") == 0);
    CHECK(second.load("every(0.001, function() print 'throw' end)"));
    CHECK(second.arm());
    std::string what;
    for (int i = 0; i < 1000 && what.empty(); i++) what = thrown([&] { (void)second.poll(100).number(); });
    CHECK(what == "from the text callback");
    CHECK(second.ended());
    Session third;
    third = std::move(second);
    CHECK(third.ended());
    CHECK(second.load("").number() == KLUA_ERR_HANDLE);
    CHECK(second.subscribe(0, [](const Record&) {}).number() == KLUA_ERR_HANDLE);
    CHECK(second.unsubscribe(0).number() == KLUA_ERR_HANDLE);
    CHECK(second.fd() == KLUA_ERR_HANDLE && second.probes().empty() && !second.error().empty());
    CHECK(second.targets("vfs_*", [](const char*) { return true; }).number() == KLUA_ERR_HANDLE);
}

// The call that led to it throws it again; by the C API it is an error of the same call.
void thrown_while_loading() {
    Callbacks callbacks;
    callbacks.text = [](std::string_view) -> bool { throw std::runtime_error("no text"); };
    Session s(callbacks);
    CHECK(thrown([&] { (void)s.load("print 'a'").number(); }) == "no text");
    CHECK(s.ended());
    CHECK(thrown([&] { CHECK(s.load("print 'b'")); }).empty());  // no more of it
    CHECK(thrown([&] { CHECK(s.poll(0)); }).empty());
}

void wrapped() {
    Session s;
    const Status wrong = s.load("kprobe(1)\nkprobe(2)");
    CHECK(wrong.number() == KLUA_ERR_SCRIPT);
    CHECK(s.errors().size() == 2 && s.errors()[1].line == 2 && s.errors()[1].file == "script");
    CHECK(s.load("m = map { key = 'int', value = 'int' }\nkprobe('vfs_read', function() local x = m[1] end)"));
    CHECK(s.set(0, {Value(int64_t{1})}, {Value(int64_t{2})}));
    CHECK(s.set(0, {Value("one")}, {Value(int64_t{2})}).number() == KLUA_ERR_TYPE);
    CHECK(s.erase(0, {Value(int64_t{1})}).number() == KLUA_ERR_STATE);
    CHECK(s.clear(0).number() == KLUA_ERR_STATE);
    CHECK(s.probes().size() == 1 && s.probes()[0].kind == "kprobe" && s.probes()[0].line == 2);
    CHECK(s.disable(0) && s.enable(0) && s.detach(0));
    CHECK(s.enable(0).number() == KLUA_ERR_STATE && s.probes()[0].state == "detached");
    CHECK(s.stats().sent == 0);
    CHECK(s.unsubscribe(0).number() == KLUA_ERR_NOT_FOUND);
}

// A function of the C API that throws: an error, and the session goes on.
void throwing_through_c() {
    klua_callbacks callbacks{};
    callbacks.size = sizeof callbacks;
    callbacks.text = [](void*, const char*, size_t) -> int { throw 7; };
    klua_session* s = nullptr;
    CHECK(klua_open(&callbacks, &s) == 0);
    const char code[] = "local n = 0; every(0.001, function() n = n + 1; if n == 3 then print 'x' end end)";
    CHECK(klua_load_string(s, code, std::strlen(code), "c", 0, nullptr) == 0);
    CHECK(klua_arm(s) == 0);
    int result = 0;
    for (int i = 0; i < 1000 && result == 0; i++) result = klua_poll(s, 100, 10);
    CHECK(result == KLUA_ERR_USAGE);
    CHECK(std::strstr(klua_error_text(s), "must catch its own"));
    CHECK(klua_close(s) == 0);

    CHECK(klua_open(&callbacks, &s) == 0);
    CHECK(klua_load_string(s, "print 'x'", 9, "c", 0, nullptr) == KLUA_ERR_USAGE);
    CHECK(std::strstr(klua_error_text(s), "must catch its own"));
    CHECK(klua_ended(s, nullptr) == 1);
    CHECK(klua_close(s) == 0);
}

void calls(int n) {
    for (int i = 0; i < n; i++) ::getpriority(PRIO_PROCESS, static_cast<id_t>(i));
}

void records_and_rows() {
    Session s;
    CHECK(
        s.load("e, by, h = event(), stats(), hist()\n"
               "kprobe('__x64_sys_getpriority', function(p)\n"
               "  local n = ffi.cast('struct pt_regs *', p.arg[1]).si\n"
               "  local l = {}; l[#l + 1] = n; l[#l + 1] = n * 2\n"
               "  by[n % 2]:add(n); h:add(n); e{ n = n, comm = comm(), l = l, err = errno_name(-2) } end)"));
    if (const Status armed = s.arm(); !armed) {
        CHECK(armed);
        std::printf("%s\n", armed.text().c_str());
        return;
    }
    const int event = s.event("e"), n = s.field(event, "n"), l = s.field(event, "l"), err = s.field(event, "err");
    int64_t got = 0, sum = 0, doubled = 0;
    std::string name;
    const Status subscribed = s.subscribe(event, [&](const Record& r) {
        got++;
        sum += r[n].integer();
        int64_t last = 0;
        for (const Value element : r[l].list()) last = element.integer();
        doubled += last;
        name = r.text(err);
        if (got == 3) throw std::runtime_error("third");
    });
    CHECK(subscribed);
    calls(10);
    int errors = 0;
    for (int i = 0; i < 300 && got < 10; i++) errors += thrown([&] { CHECK(s.poll(100)); }) == "third";
    CHECK(got == 10 && sum == 45 && doubled == 90 && errors == 1);
    CHECK(name == "ENOENT");
    int64_t rows = 0, total = 0;
    for (const Row& row : s.read(s.map("by"))) {
        rows++;
        total += row.aggregate().sum;
        CHECK(row.key().integer() == row.aggregate().min);
        CHECK(row.key_text() == (row.key().integer() ? "1" : "0"));
    }
    CHECK(rows == 2 && total == 45);
    CHECK(s.stats().delivered == 10 && s.probes()[0].first.handled == 10);
    const std::string stop =
        thrown([&] { CHECK(s.targets("vfs_*", [](const char*) -> bool { throw std::runtime_error("a name"); })); });
    CHECK(stop == "a name");
    uint64_t counted = 0;
    for (const Row& row : s.take(s.map("h")))
        for (const Bucket& bucket : row.buckets()) counted += bucket.count;
    CHECK(counted == 10);
    CHECK(s.unsubscribe(subscribed.number()));
    calls(1);
    CHECK(s.poll(200) && got == 10);
    CHECK(s.read(999).size() == 0 && s.error().find("no map 999") != std::string::npos);
    CHECK(s.stop());
}

}  // namespace

int main(int argc, char** argv) {
    moved_and_throwing();
    throwing_through_c();
    thrown_while_loading();
    wrapped();
    if (argc > 1 && !std::strcmp(argv[1], "all")) records_and_rows();
    std::printf("%d checks failed\n", failed);
    return failed != 0;
}
