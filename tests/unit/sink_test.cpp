// SPDX-License-Identifier: MIT
// Where output goes: all of it, in order.
#include "output/sink.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "base/unique_fd.hpp"
#include "temp_dir.hpp"

using namespace kpl;

namespace {

std::string bytes_of(const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
}

// What `write` writes to a stdout that does not block, and whose reader is late.
std::string slowly_read(const std::function<void(Sink&)>& write) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    UniqueFd out(ends[0]), in(ends[1]);
    REQUIRE(::fcntl(in.get(), F_SETFL, O_NONBLOCK) == 0);
    std::string text;
    std::thread reader([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        char bytes[4096];
        for (ssize_t n; (n = ::read(out.get(), bytes, sizeof bytes)) > 0;) text.append(bytes, static_cast<size_t>(n));
    });
    std::fflush(stdout);
    const UniqueFd saved(::dup(STDOUT_FILENO));
    ::dup2(in.get(), STDOUT_FILENO);
    in.reset();
    {
        Sink sink = Sink::open("", Buffering::Full).value();
        write(sink);
        CHECK(sink.end());
    }
    ::dup2(saved.get(), STDOUT_FILENO);
    reader.join();
    return text;
}

}  // namespace

TEST_CASE("a stdout that does not block loses nothing") {
    std::string all;
    for (int i = 0; i < 100000; i++) all += std::to_string(i) + "\n";
    const std::string got = slowly_read([&](Sink& sink) {
        for (int i = 0; i < 100000; i++) sink.write(std::to_string(i) + "\n");
    });
    CHECK(got == all);
}

TEST_CASE("a file that is cut while it is written begins anew") {
    const test::TempDir dir;
    dir.write("out", "of an earlier run");
    const auto text = [&] { return bytes_of(dir / "out"); };
    Sink sink = Sink::open(dir / "out", Buffering::Line).value();
    CHECK(sink.begin());
    sink.write("one\n");
    sink.flush();
    CHECK(text() == "one\n");
    std::filesystem::resize_file(dir / "out", 0);
    sink.write("two\n");
    CHECK(sink.end());
    CHECK(text() == "two\n");
}

TEST_CASE("a file keeps what it holds until its run begins") {
    const test::TempDir dir;
    const std::string old = dir / "old", fresh = dir / "fresh";
    dir.write("old", "of an earlier run");
    for (const std::string& path : {old, fresh}) {
        Sink sink = Sink::open(path, Buffering::Line).value();
        CHECK(sink.write("one\n"));
        CHECK(sink.flush());
        CHECK(bytes_of(path) == (path == old ? "of an earlier run" : ""));
    }
    CHECK(bytes_of(old) == "of an earlier run");
    CHECK_FALSE(std::filesystem::exists(fresh));

    for (const bool begins : {true, false}) {  // or ends
        dir.write("old", "of an earlier run");
        Sink sink = Sink::open(old, Buffering::Line).value();
        sink.write("one\n");
        CHECK((begins ? sink.begin() : sink.end().ok()));
        CHECK(bytes_of(old) == "one\n");
    }
    // libc flushes before popen(), and a block may be too small.
    for (const size_t size : {size_t{1}, size_t{1} << 17}) {
        dir.write("old", "of an earlier run");
        Sink sink = Sink::open(old).value();
        sink.write(std::string(size, 'x'));
        std::fflush(nullptr);
        CHECK((bytes_of(old) == std::string(size, 'x')));
    }
}

TEST_CASE("what others write to stdout keeps its place") {
    FILE* const usual = stdout;
    const std::string got = slowly_read([](Sink& sink) {
        sink.write("one ");
        std::fputs("two ", stdout);
        sink.write("three");
    });
    CHECK(got == "one two three");
    CHECK(stdout == usual);
}

TEST_CASE("what can't be written is told") {
    Sink full = Sink::open("/dev/full").value();
    full.write("x");
    const auto ended = full.end();
    REQUIRE_FALSE(ended);
    CHECK(ended.error().text == "writing output: No space left on device");
}
