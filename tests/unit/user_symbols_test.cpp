// SPDX-License-Identifier: MIT
// Addresses of processes to names: of this one, of its children, of texts that /proc and JITs write.
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "base/printable.hpp"
#include "programs/user_symbols.hpp"
#include "temp_dir.hpp"

using namespace kpl;

extern "C" __attribute__((noinline, used)) int user_symbols_named(int n) { return n + 1; }
namespace user_symbols_of {
struct Thing {
    __attribute__((noinline, used)) static int f(int n, const char* text);
};
int Thing::f(int n, const char* text) { return n + text[0]; }
}  // namespace user_symbols_of

namespace {

uint64_t address_of(auto* function) { return reinterpret_cast<uint64_t>(function); }

uint64_t own_space() {
    const auto space = space_of(static_cast<uint32_t>(::getpid()));
    REQUIRE(space);
    return *space;
}

std::string of_this(const char* name) { return std::string(name) + " [" + ::program_invocation_short_name + "]"; }

}  // namespace

TEST_CASE("maps: what is code, with paths as they are") {
    const auto maps = parse_maps(
        "55d0c0a26000-55d0c0a28000 r--p 00000000 fd:01 1234                       /usr/bin/two words\n"
        "55d0c0a28000-55d0c0a2d000 r-xp 00002000 fd:01 1234                       /usr/bin/two words\n"
        "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
        "7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]\n"
        "garbage\n");
    REQUIRE(maps.size() == 3);
    CHECK(maps[0].start == 0x55d0c0a28000);
    CHECK(maps[0].end == 0x55d0c0a2d000);
    CHECK(maps[0].offset == 0x2000);
    CHECK(maps[0].device == makedev(0xfd, 1));
    CHECK(maps[0].inode == 1234);
    CHECK(maps[0].path == "/usr/bin/two words");
    CHECK(maps[1].path.empty());
    CHECK(maps[2].path == "[vdso]");
}

TEST_CASE("maps: what comes later stands in the place of what was there") {
    MemoryMap map;
    const auto add = [&](uint64_t start, uint64_t end, const char* path) {
        CodeMapping m;
        m.start = start, m.end = end, m.offset = start, m.path = path;
        map.add(m);
    };
    add(0x1000, 0x9000, "a"), add(0x3000, 0x5000, "b"), add(0x8000, 0xa000, "c"), add(0x3000, 0x4000, "d");
    const auto path = [&](uint64_t address) { return map.at(address) ? map.at(address)->path : "none"; };
    CHECK(path(0xfff) == "none");
    CHECK(path(0x1000) == "a");
    CHECK(path(0x3000) == "d");
    CHECK(path(0x4fff) == "b");
    CHECK(map.at(0x4fff)->offset == 0x4000);
    CHECK(path(0x5000) == "a");
    CHECK(map.at(0x5000)->offset == 0x5000);
    CHECK(path(0x8000) == "c");
    CHECK(path(0xa000) == "none");
    add(0, 0x10000, "all");
    CHECK(map.mappings.size() == 1);
}

TEST_CASE("maps: what somebody else maps takes no more than so much") {
    MemoryMap map;
    CodeMapping whole;
    whole.end = 1 << 28, whole.path = std::string(4000, 'x');
    CHECK_FALSE(map.add(whole));
    for (uint64_t i = 0; i < 5000; i++) {
        CodeMapping one;
        one.start = i << 14 | 1 << 12, one.end = one.start + (1 << 12);
        map.add(one);
    }
    CHECK(map.bytes() > 3 << 20);
    CHECK(map.bytes() < 5 << 20);
    CodeMapping last;
    last.end = 1 << 28, last.path = "last";
    CHECK(map.add(last));
    CHECK(map.mappings.size() == 1);
    CHECK(map.bytes() < 1000);
}

TEST_CASE("JIT maps: the later line counts, and no line that is none") {
    JitMap jit;
    jit.read("1000 10 first\n0x2000 0x20 two words\nnonsense\n3000 0 empty\n1000 8 again\n");
    CHECK(jit.at(0xfff).empty());
    CHECK(jit.at(0x1000) == "again");
    CHECK(jit.at(0x1007) == "again+0x7");
    CHECK(jit.at(0x1008).empty());
    CHECK(jit.at(0x201f) == "two words+0x1f");
    CHECK(jit.at(0x3000).empty());
}

TEST_CASE("JIT maps: short lines take no more memory than there is for all") {
    JitMap jit;
    std::string lines;
    for (int i = 0; i < 4000000; i++) lines += "1 1 a\n";
    jit.read(lines);
    CHECK(jit.bytes() < size_t{160} << 20);
}

TEST_CASE("JIT maps: a file that changes all the time is looked at now and then") {
    const std::string file = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
    ForeignFiles files;
    JitMap jit;
    std::set<std::string> names;
    for (int n = 0; n < 100; n++) {
        std::ofstream out(file);
        for (int line = 0; line < (n % 2 ? 10000 : 20000); line++) out << "1000 10 made" << n << '\n';
        out.close();
        jit.look(files, static_cast<uint32_t>(::getpid()), ::getuid());
        names.insert(jit.at(0x1000));
    }
    ::unlink(file.c_str());
    CHECK(names.contains("made0"));
    CHECK(names.size() < 50);
}

TEST_CASE("JIT maps: the process's own, or root's") {
    constexpr uint32_t no_process = 1 << 22;  // numbers end before
    constexpr uid_t somebody = 65534;
    const std::string file = fmt::format("/tmp/perf-{}.map", no_process);
    std::ofstream(file) << "1000 10 made\n";
    const auto at_owner = [&](std::optional<uid_t> owner) {
        ForeignFiles files;
        JitMap jit;
        jit.look(files, no_process, owner);
        return jit.at(0x1000);
    };
    const bool root = ::getuid() == 0;
    CHECK(at_owner(::getuid()) == "made");
    CHECK(at_owner(std::nullopt) == (root ? "made" : ""));
    if (root) {
        REQUIRE(::chown(file.c_str(), somebody, somebody) == 0);
        CHECK(at_owner(std::nullopt).empty());
        CHECK(at_owner(somebody) == "made");
        CHECK(at_owner(somebody - 1).empty());
    }
    ::unlink(file.c_str());
}

TEST_CASE("text for a terminal, however much of it is control characters") {
    CHECK(printable("a\033[2J\n\x7f\xc2\x80z\xc2\x9f") ==
          "a?[2J??"
          "?z?");
    CHECK(printable("a\n\tb", "\n") == "a\n?b");
    CHECK(printable("\xc2\xa0\xc3\x9b\xc2") == "\xc2\xa0\xc3\x9b\xc2");
    std::string many;
    for (int i = 0; i < 8 << 20; i++) many += "\xc2\x9b";
    CHECK(printable(many) == std::string(8 << 20, '?'));
}

TEST_CASE("names that stand for more text than there is memory") {
    CHECK(plain("_ZN1a1bEi") == "a::b(int)");
    CHECK(plain("two\033[2J\n") == "two?[2J?");
    std::string bomb = "_Z1fSt4pairIiiE";
    for (int i = 0; i < 60; i++) {
        const std::string last = i == 0    ? "S_"
                                 : i <= 36 ? fmt::format("S{}_", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i - 1])
                                           : "";
        if (!last.empty()) bomb += "St4pairI" + last + last + "E";
    }
    CHECK(plain(bomb) == bomb);
    CHECK(plain("_Z" + std::string(100000, 'x')).size() < 20000);
}

TEST_CASE("names of this process: its own, a library's, C++, the vDSO's, none") {
    UserSymbols symbols;
    const uint64_t space = own_space();
    CHECK(symbols.name(space, address_of(&user_symbols_named)) == of_this("user_symbols_named"));
    CHECK(symbols.name(space, address_of(&user_symbols_named) + 1) == of_this("user_symbols_named+0x1"));
    CHECK(symbols.name(space, address_of(&user_symbols_of::Thing::f)) ==
          of_this("user_symbols_of::Thing::f(int, char const*)"));
    CHECK(symbols.name(space, address_of(&::getpid)).find("getpid") != std::string::npos);
    CHECK(symbols.name(space, ::getauxval(AT_SYSINFO_EHDR) + 0x40).ends_with(" [vdso]"));
    CHECK(symbols.name(space, 16) == "0x10");
    CHECK(symbols.unknown() == 0);
}

TEST_CASE("another program of that process's number has no names") {
    UserSymbols symbols;
    const uint64_t other = own_space() ^ uint64_t { 1 } << 40;
    CHECK(symbols.name(other, address_of(&user_symbols_named)).starts_with("0x"));
    CHECK(symbols.name(0, address_of(&user_symbols_named)).starts_with("0x"));
    CHECK(symbols.unknown() == 1);
}

TEST_CASE("code that a process makes, by the map of its JIT") {
    void* code = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(code != MAP_FAILED);
    const auto at = reinterpret_cast<uint64_t>(code);
    const std::string file = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
    UserSymbols symbols;
    CHECK(symbols.name(own_space(), at + 4).starts_with("0x"));
    std::ofstream(file) << std::hex << at << " 10 made\n";
    const auto named = [&](const char* name) {
        for (int tries = 0; tries < 30000 && symbols.name(own_space(), at + 4) != name; tries++) ::usleep(1000);
        return symbols.name(own_space(), at + 4);
    };
    CHECK(named("made+0x4 [jit]") == "made+0x4 [jit]");
    std::ofstream(file, std::ios::app) << std::hex << at << " 10 again\n";
    CHECK(named("again+0x4 [jit]") == "again+0x4 [jit]");
    ::unlink(file.c_str());
    ::munmap(code, 4096);
}

TEST_CASE("files of others: what never answers is left behind, and nobody else waits for it") {
    const test::TempDir dir;
    dir.write("file", "words");
    using Wants = ForeignFiles::Wants;
    const auto at = [&](const char* name) { return ForeignFiles::Door{.path = dir / name}; };
    const auto other = [&](const char* name) { return ForeignFiles::Door{.path = dir / name, .inode = 1}; };
    std::optional<ForeignFiles> ended(std::in_place);
    ForeignFiles& files = *ended;
    for (int again = 0; again < 3; again++) {
        auto found = files.find({at("none"), other("file"), {.path = dir.path()}, at("file")}, Wants::Contents);
        REQUIRE(found);
        CHECK(found->door == 3);
        CHECK_FALSE(found->is_copy);
        char words[8]{};
        CHECK(::read(found->file.get(), words, sizeof words) == 5);
        CHECK(words == std::string("words"));
    }
    CHECK_FALSE(files.find({at("none"), {.path = "/proc/self/maps"}}, Wants::Contents));
    CHECK_FALSE(files.find({}, Wants::Contents));
    CHECK(files.unasked() == 0);
    CHECK_FALSE(files.find({{.path = std::string(200000, 'x')}}, Wants::Contents));
    CHECK(files.unasked() == 1);
    CHECK(files.silent() == 0);
    // Another one that waits for ever, and its successor.
    const auto children = [] {
        std::ifstream file(fmt::format("/proc/self/task/{}/children", ::gettid()));
        return std::vector<int>(std::istream_iterator<int>(file), {});
    };
    const auto only_child = [&] {
        const auto all = children();
        REQUIRE(all.size() == 1);
        return all[0];
    };
    CHECK(files.find({at("file")}, Wants::Presence));
    REQUIRE(::kill(only_child(), SIGSTOP) == 0);
    CHECK_FALSE(files.find({at("file")}, Wants::Contents));
    CHECK(files.silent() == 1);
    // One that is gone has a successor at once. (Another's: a look that takes 3 s takes most of what all may take.)
    ended.emplace();
    const auto until_alone = [&] {
        while (!files.find({at("file")}, Wants::Contents) || children().size() != 1) ::usleep(1000);
    };
    for (int again = 0; again < 20; again++) {
        until_alone();
        REQUIRE(::kill(only_child(), SIGKILL) == 0);
        CHECK(files.find({at("file")}, Wants::Contents));
    }
    CHECK(files.silent() == 0);
    CHECK(files.unasked() == 0);
    // Nobody waits for them by mistake, and none stays.
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
    ended.reset();
    CHECK(::waitpid(-1, nullptr, WNOHANG | __WALL) == -1);
}
