// SPDX-License-Identifier: MIT
// Addresses of processes to names: of this one, of its children, of texts that /proc and JITs write.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>

#include "base/printable.hpp"
#include "programs/user_symbols.hpp"
#include "temp_dir.hpp"
#include "uapi/kprobe_lua.h"

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

using What = ForeignFiles::What;
using Wants = ForeignFiles::Wants;

uint64_t own_space() {
    ForeignFiles files;
    const auto look = map_of(files, static_cast<uint32_t>(::getpid()));
    REQUIRE(look.map);
    return look.map->space;
}

uint64_t of_process(uint64_t space, pid_t pid) {
    constexpr uint64_t mask = (uint64_t{1} << KPL_SPACE_PID_BITS) - 1;
    return (space & ~mask) | static_cast<uint32_t>(pid);
}

// Some looks have the answer that the test wants.
struct ToldFiles : ForeignFiles {
    using Tells = std::function<std::optional<What>(const std::vector<Door>&, Wants)>;
    Tells tells;

    explicit ToldFiles(Tells tells) : tells(std::move(tells)) {}
    Found find(const std::vector<Door>& doors, Wants wants) override {
        if (const auto what = tells(doors, wants)) return {.what = *what};
        return ForeignFiles::find(doors, wants);
    }
};

// A process that waits until it is killed.
struct Waiting {
    pid_t pid = ::fork();
    Waiting() {
        while (pid == 0) ::pause();
    }
    void end() {
        if (pid <= 0) return;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        pid = 0;
    }
    ~Waiting() { end(); }
};

uint32_t ended_process() {
    Waiting process;
    const pid_t pid = process.pid;
    process.end();
    return static_cast<uint32_t>(pid);
}

MapEvent event_of(MapEvent::What what, uint32_t pid, uint32_t parent = 0) {
    MapEvent event;
    event.what = what, event.pid = pid, event.parent = parent;
    return event;
}

MapEvent mapped(uint32_t pid, uint64_t start, const std::string& path) {
    MapEvent event = event_of(MapEvent::What::Map, pid);
    event.mapping.start = start, event.mapping.end = start + (1 << 24), event.mapping.path = path;
    struct stat file {};
    if (::stat(path.c_str(), &file) == 0) event.mapping.device = file.st_dev;
    event.mapping.inode = file.st_ino ? file.st_ino : 1;
    return event;
}

// A library of this process: a file with names.
std::string some_library() {
    for (const CodeMapping& mapping : parse_maps(read_file("/proc/self/maps", 1 << 20)))
        if (mapping.path.find("/libc.so") != std::string::npos) return mapping.path;
    FAIL("no library");
    return "";
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

TEST_CASE("maps: what one lacks is looked for ever more seldom, and for what is new at once") {
    using std::chrono::seconds;
    const Lacking::Clock::time_point from{};
    Lacking lacking;
    MemoryMap map;
    const auto rest = [&](uint64_t address, int at) {
        int rest = 0;
        while (!lacking.wants_look(address, from + seconds(at + rest))) rest++;
        return rest;
    };
    CHECK(lacking.wants_look(16, from));
    std::vector<int> rests;
    for (int i = 0, now = 0; i < 40; i++) {
        lacking.looked(16, map, from + seconds(now));
        rests.push_back(rest(16, now));
        CHECK(rest(32, now) == 1);
        now += rests.back();
    }
    std::vector<int> expected{2, 4, 8, 16, 32};
    expected.resize(rests.size(), 60);
    CHECK(rests == expected);
    CodeMapping code;
    code.start = 0, code.end = 4096;
    map.add(code);
    lacking.looked(8192, map, from + seconds(10000));
    CHECK(rest(16, 10000) == 1);
    CHECK(rest(8192, 10000) == 2);
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
    CHECK(printable("\xc2\xa0\xc3\x9b\xc2") == "\xc2\xa0\xc3\x9b?");
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

TEST_CASE("who was not looked at has no names for now, least of all its parent's") {
    What told = What::There;
    std::string of;
    auto symbols = UserSymbols(std::make_unique<ToldFiles>([&](const auto& doors, Wants) {
        return told != What::There && doors[0].path.starts_with(of) ? std::optional(told) : std::nullopt;
    }));
    const uint64_t own = own_space(), at = address_of(&user_symbols_named);
    Waiting child;
    symbols.apply(event_of(MapEvent::What::Fork, static_cast<uint32_t>(child.pid), static_cast<uint32_t>(::getpid())));
    const uint64_t space = of_process(own, child.pid);
    for (const What what : {What::Silent, What::Unasked}) {
        told = what, of = fmt::format("/proc/{}/", ::getpid());
        CHECK(symbols.name(own, at) == fmt::format("{:#x}", at));
    }
    told = What::There;
    const std::string name = symbols.name(own, at);
    CHECK(name.starts_with("user_symbols_named ["));
    for (const What what : {What::Silent, What::Unasked}) {
        told = what, of = fmt::format("/proc/{}/", child.pid);
        CHECK(symbols.name(space, at) == fmt::format("{:#x}", at));
    }
    CHECK(symbols.unknown() == 0);
    child.end();  // it had its parent's memory, then
    CHECK(symbols.name(space, at) == name);
    CHECK(symbols.unknown() == 0);
}

TEST_CASE("a program that a process ran before does not stand in the place of the one that it runs") {
    UserSymbols symbols;
    const uint32_t pid = ended_process();
    const uint64_t own = own_space(), at = address_of(&user_symbols_named);
    symbols.apply(event_of(MapEvent::What::Fork, pid, static_cast<uint32_t>(::getpid())));
    symbols.apply(event_of(MapEvent::What::Exec, pid));
    symbols.apply(mapped(pid, 0x40000000, "/none/now"));
    CHECK(symbols.name(of_process(own, static_cast<pid_t>(pid)), at) == symbols.name(own, at));
    symbols.apply(mapped(pid, 0x60000000, "/none/late"));
    CHECK(symbols.name(kpl_space(pid, 0x40000000, 0), 0x60000010) == "0x60000010 [late]");
}

TEST_CASE("files without names do not drive out programs, whose files may be gone") {
    const test::TempDir dir;
    UserSymbols symbols;
    const uint32_t pid = ended_process();
    const uint64_t space = kpl_space(pid, 0x10000000, 0);
    std::filesystem::copy_file(some_library(), dir / "program");
    symbols.apply(event_of(MapEvent::What::Exec, pid));
    symbols.apply(mapped(pid, 0x10000000, dir / "program"));
    CHECK(symbols.name(space, 0x10030000) != "0x10030000 [program]");
    std::filesystem::remove(dir / "program");
    for (uint64_t i = 0; i < 300; i++) {
        const std::string name = fmt::format("words{}", i);
        const uint64_t start = 0x20000000 + (i << 24);
        dir.write(name, "words");
        symbols.apply(mapped(pid, start, dir / name));
        CHECK(symbols.name(space, start) == fmt::format("{:#x} [{}]", start, name));
    }
    CHECK(symbols.name(space, 0x10030100) != "0x10030100 [program]");
}

TEST_CASE("what is too large is not looked at again; what was not looked at is") {
    const test::TempDir dir;
    int looks = 0;
    What what = What::TooLarge;
    auto symbols = UserSymbols(std::make_unique<ToldFiles>([&](const auto&, Wants wants) {
        looks += wants == Wants::Elf;
        return wants == Wants::Elf ? std::optional(what) : std::nullopt;
    }));
    const uint32_t pid = ended_process();
    const uint64_t space = kpl_space(pid, 0x10000000, 0);
    symbols.apply(event_of(MapEvent::What::Exec, pid));
    uint64_t start = 0x10000000;
    for (const auto& [told, most] : {std::pair(What::TooLarge, 1), {What::Unasked, 3}, {What::Silent, 3}}) {
        dir.write(std::to_string(start), "words");
        symbols.apply(mapped(pid, start, dir / std::to_string(start)));
        what = told, looks = 0;
        for (uint64_t i = 0; i < 3; i++) symbols.name(space, start + i);
        CHECK(looks == most);
        start += 1 << 24;
    }
}

TEST_CASE("a CPU whose events can't be had at first is asked for them again") {
    const auto fork_event = [](MapStream& stream) {
        stream.open();
        const uint32_t pid = ended_process();
        for (const MapEvent& event : stream.take())
            if (event.pid == pid) return true;
        return false;
    };
    MapStream whole;
    cpu_set_t mine, last;
    REQUIRE(::sched_getaffinity(0, sizeof mine, &mine) == 0);
    int cpu = CPU_SETSIZE - 1;
    while (!CPU_ISSET(cpu, &mine)) cpu--;
    if (!fork_event(whole) || cpu == 0) {
        WARN("skipped: no perf events of two CPUs here");
        return;
    }
    // Room for one more file.
    rlimit files{}, few{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
    const int next = ::open("/dev/null", O_RDONLY);
    REQUIRE(next >= 0);
    ::close(next);
    few.rlim_cur = static_cast<rlim_t>(next) + 1, few.rlim_max = files.rlim_max;
    MapStream stream;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    stream.open();
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &files) == 0);
    CPU_ZERO(&last);
    CPU_SET(cpu, &last);
    const pid_t child = ::fork();
    if (child == 0) {
        for (;;) {
            ::sched_setaffinity(0, sizeof last, &last);
            void* const code = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            ::munmap(code, 4096);
            ::usleep(1000);
        }
    }
    bool seen = false;
    for (int tries = 0; tries < 12000 && !seen; tries++) {
        ::usleep(10000);
        for (const MapEvent& event : stream.take())
            seen |= event.what == MapEvent::What::Map && event.pid == static_cast<uint32_t>(child);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    CHECK(seen);
    CHECK(stream.lost() > 0);
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
    const auto at = [&](const char* name) { return ForeignFiles::Door{.path = dir / name}; };
    const auto other = [&](const char* name) { return ForeignFiles::Door{.path = dir / name, .inode = 1}; };
    std::optional<ForeignFiles> ended(std::in_place);
    ForeignFiles& files = *ended;
    for (int again = 0; again < 3; again++) {
        auto found = files.find({at("none"), other("file"), {.path = dir.path()}, at("file")}, Wants::Contents);
        REQUIRE(found);
        CHECK(found.door == 3);
        char words[8]{};
        CHECK(::read(found.file.get(), words, sizeof words) == 5);
        CHECK(words == std::string("words"));
    }
    CHECK_FALSE(files.find({at("none"), {.path = "/proc/self/maps"}}, Wants::Contents));
    CHECK_FALSE(files.find({}, Wants::Contents));
    CHECK(files.unasked() == 0);
    CHECK(files.find({{.path = std::string(200000, 'x')}}, Wants::Contents).what == What::Unasked);
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
    CHECK(files.find({at("file")}, Wants::Contents).what == What::Silent);
    CHECK(files.silent() == 1);
    // It is not asked for again, by whatever way to it; others are.
    CHECK(files.find({at("file"), at("none")}, Wants::Presence).what == What::Silent);
    dir.write("other", "words");
    bool asked = false;
    for (int tries = 0; tries < 12000 && !asked; tries++, ::usleep(10000))  // all looks share their time
        asked = bool(files.find({at("other")}, Wants::Presence));
    CHECK(asked);
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

TEST_CASE("files of others: what the kernel tells of processes is read by who looks") {
    const test::TempDir dir;
    dir.write("one", "words");
    dir.write("empty", "");
    ForeignFiles files;
    const auto texts = files.read({dir / "one", dir / "none", dir / "empty", fmt::format("/proc/{}/stat", ::getpid())});
    CHECK(texts.what == What::There);
    REQUIRE(texts.of.size() == 4);
    CHECK(texts.of[0] == "words");
    CHECK(texts.of[1].empty());
    CHECK(texts.of[2].empty());
    CHECK(texts.of[3].starts_with(fmt::format("{} (", ::getpid())));
    CHECK(files.read({"/proc/self/stat"}).of[0] != read_file("/proc/self/stat", 4096));
    CHECK(files.read({dir / "none"}).of == std::vector<std::string>{""});
    dir.write("one", std::string(20 << 20, 'x'));
    CHECK(files.read({dir / "one", dir / "one"}).of[1].size() == 16 << 20);
    CHECK(files.unasked() == 0);
}

TEST_CASE("files of others: a long run goes on, however many are left behind in time") {
    using std::chrono::minutes;
    for (const auto& [ran, most] : {std::pair(0, 4u), {59, 4u}, {60, 5u}, {12 * 60, 16u}, {13 * 60, 16u}})
        CHECK(ForeignFiles::most_left(minutes(ran)) == most);
}
