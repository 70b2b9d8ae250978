// SPDX-License-Identifier: MIT
#include "symbols/kallsyms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include "symbols/glob.hpp"

using namespace kpl;

namespace {

class TempFile {
  public:
    explicit TempFile(const std::string& content) {
        std::string name = (std::filesystem::temp_directory_path() / "kpl-kallsyms-XXXXXX").string();
        const int fd = mkstemp(name.data());
        REQUIRE(fd >= 0);
        close(fd);
        path_ = name;
        std::ofstream(path_, std::ios::binary) << content;
    }
    ~TempFile() { std::filesystem::remove(path_); }
    TempFile(const TempFile&) = delete;
    TempFile& operator=(const TempFile&) = delete;
    std::string path() const { return path_; }

  private:
    std::string path_;
};

template <class T>
T ok(Result<T> result) {
    if (!result) FAIL(result.error().text);
    return std::move(result).value();
}

const char* const table =
    "0000000000000000 A fixed_percpu_data\n"
    "0000000000001000 A cpu_debug_store\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81000000 T startup_64\n"
    "ffffffff81000100 t twin\n"
    "ffffffff81000200 T vfs_read\n"
    "ffffffff81000300 t vfs_read.cold\n"
    "ffffffff81000400 T vfs_readv\n"
    "ffffffff81000500 t do_vfs_read\n"
    "ffffffff81000600 t twin\n"
    "ffffffff81000700 W weak_one\n"
    "ffffffff81000800 t foo.part.0\n"
    "ffffffff82000000 D vfs_data\n"
    "ffffffff82000100 b twin\n"
    "ffffffff82000200 B _end\n"
    "ffffffffc0200000 t helper\t[nf_conntrack]\n"
    "ffffffffc0200100 t nf_conntrack_in\t[nf_conntrack]\n"
    "ffffffffc0100000 t helper\t[ext4]\n"
    "ffffffffc0100080 d vfs_table\t[ext4]\n"
    "ffffffffc0300000 t bpf_prog_6deef7357e7b4530\t[bpf]\n"
    "ffffffffc0400000 t ftrace_trampoline\t[__builtin__ftrace]\n";

// "addr name module kind" of each.
std::vector<std::string> shown(const std::vector<Symbol>& symbols) {
    std::vector<std::string> out;
    for (const Symbol& s : symbols) out.push_back(fmt::format("{:x} {} {} {}", s.addr, s.name, s.module, s.kind));
    return out;
}
using Texts = std::vector<std::string>;
constexpr int rounds = 6;

}  // namespace

TEST_CASE("find: exact names of functions, with and without the index") {
    TempFile file(table);
    Kallsyms symbols(file.path());
    // The first rounds search the text; later ones use the index. Both must agree.
    static_assert(rounds * 5 > 16);  // enough for the index to be built, in each test
    for (int round = 0; round < rounds; round++) {
        INFO(round);
        CHECK(shown(ok(symbols.find("vfs_read"))) == Texts{"ffffffff81000200 vfs_read  T"});
        CHECK(shown(ok(symbols.find("twin"))) == Texts{"ffffffff81000100 twin  t", "ffffffff81000600 twin  t"});
        CHECK(shown(ok(symbols.find("helper"))) ==
              Texts{"ffffffffc0200000 helper nf_conntrack t", "ffffffffc0100000 helper ext4 t"});
        CHECK(shown(ok(symbols.find("helper", "ext4"))) == Texts{"ffffffffc0100000 helper ext4 t"});
        CHECK(shown(ok(symbols.find("vfs_read.cold"))) == Texts{"ffffffff81000300 vfs_read.cold  t"});
        CHECK(shown(ok(symbols.find("weak_one"))) == Texts{"ffffffff81000700 weak_one  W"});
        for (const char* absent :
             {"vfs", "read", "vfs_data", "helper\t[ext4]", "", "T vfs_read", "bpf_prog_6deef7357e7b4530",
              "ftrace_trampoline", "fixed_percpu_data", "t", "[ext4]"}) {
            INFO(absent);
            CHECK(ok(symbols.find(absent)).empty());
        }
        CHECK(ok(symbols.find("helper", "vmlinux")).empty());
        CHECK(ok(symbols.find("helper", "xfs")).empty());
        CHECK(ok(symbols.find("vfs_read", "vmlinux")).size() == 1);
        CHECK(ok(symbols.find("vfs_read", "ext4")).empty());
    }
}

TEST_CASE("glob: functions by name") {
    TempFile file(table);
    Kallsyms symbols(file.path());
    auto names = [&](const char* pattern, const char* module = "") {
        Texts out;
        for (const Symbol& s : ok(symbols.glob(pattern, module))) out.push_back(s.name);
        return out;
    };
    CHECK(names("vfs_*") == Texts{"vfs_read", "vfs_read.cold", "vfs_readv"});
    CHECK(names("twin") == Texts{"twin", "twin"});
    CHECK(names("*", "ext4") == Texts{"helper"});
    CHECK(names("*_in") == Texts{"nf_conntrack_in"});
    CHECK(names("vfs_[a-r]eadv") == Texts{"vfs_readv"});
    CHECK(names("none*").empty());
    CHECK(names("*", "vmlinux").size() == 10);
    CHECK(names("*").size() == 13);
}

TEST_CASE("at and name_of: the symbol that covers an address") {
    TempFile file(table);
    Kallsyms symbols(file.path());
    const std::pair<uint64_t, const char*> rows[] = {
        {0xffffffff81000200, "vfs_read"},
        {0xffffffff8100021a, "vfs_read+0x1a"},
        {0xffffffff810002ff, "vfs_read+0xff"},
        {0xffffffff81000300, "vfs_read.cold"},
        {0xffffffff81000001, "_text+0x1"},  // the first of two at one address
        {0xffffffff82000010, "vfs_data+0x10"},
        {0xffffffffc0100001, "helper+0x1 [ext4]"},
        {0xffffffffc0200100, "nf_conntrack_in [nf_conntrack]"},
        {0xffffffffc0300008, "bpf_prog_6deef7357e7b4530+0x8 [bpf]"},
        {0xffffffff80ffffff, "0xffffffff80ffffff"},  // before the first
        {0xffffffffb0000000, "0xffffffffb0000000"},  // far behind the last of the kernel
        {0x1008, "0x1008"},                          // per-CPU symbols cover nothing
        {0, "0x0"},
        {0x7fff12345678, "0x7fff12345678"},
        {~0ull, "0xffffffffffffffff"},
    };
    for (const auto& [addr, name] : rows) CHECK(symbols.name_of(addr) == name);
    Symbol symbol = ok(symbols.at(0xffffffff8100021a));
    CHECK(symbol.addr == 0xffffffff81000200);
    CHECK(symbol.kind == 'T');
    CHECK(ok(symbols.at(0x1008)).name.empty());
    CHECK(ok(symbols.at(0xffffffffc0100084)).module == "ext4");
}

TEST_CASE("near: functions with a similar name") {
    TempFile file(table);
    Kallsyms symbols(file.path());
    CHECK(ok(symbols.near("vfs_raed")) == Texts{"vfs_read", "vfs_readv"});
    CHECK(ok(symbols.near("nf_contrack_in")) == Texts{"nf_conntrack_in"});
    CHECK(ok(symbols.near("vfs_dat")) == Texts{});  // only data is near
    CHECK(ok(symbols.near("entirely_different")).empty());
}

TEST_CASE("a table that can't be used says why and what to do") {
    Kallsyms missing("/nonexistent/kallsyms");
    auto result = missing.find("vfs_read");
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == Errc::system);
    CHECK(result.error().text == "/nonexistent/kallsyms: No such file or directory");
    CHECK(missing.name_of(0xffffffff81000200) == "0xffffffff81000200");

    std::string hidden_table = table;
    for (size_t line = 0; line != std::string::npos && line + 16 < hidden_table.size();) {
        hidden_table.replace(line, 16, 16, '0');
        line = hidden_table.find('\n', line);
        if (line != std::string::npos) line++;
    }
    TempFile file(hidden_table);
    Kallsyms hidden(file.path());
    for (auto error : {hidden.find("vfs_read").ok(), hidden.glob("*").ok(), hidden.at(1).ok()}) CHECK_FALSE(error);
    auto found = hidden.find("vfs_read");
    CHECK(found.error().text.find("hides the addresses") != std::string::npos);
    CHECK(found.error().text.find(geteuid() == 0 ? "kernel.kptr_restrict=1" : "run as root") != std::string::npos);
    CHECK(ok(hidden.near("vfs_raed")).size() == 2);  // names are there

    for (const char* useless : {"", "\n\n\n", "garbage", "ffffffff82000000 D vfs_data\n"}) {
        TempFile bad(useless);
        auto none = Kallsyms(bad.path()).find("vfs_read");
        REQUIRE_FALSE(none.ok());
        CHECK(none.error().text.find("no functions in it") != std::string::npos);
    }
}

TEST_CASE("odd lines do no harm") {
    TempFile file(
        "x\nffffffff81000000 T a\nffffffff81000010 T\nffffffff81000020 T \nffffffff81000030 t "
        "b\t\nffffffff81000040 t c\t[\n"
        "ffffffff81000050 t d\t[m]\n\n a\nffffffff81000060 T last");
    Kallsyms symbols(file.path());
    for (int round = 0; round < rounds; round++) {
        CHECK(shown(ok(symbols.find("a"))) == Texts{"ffffffff81000000 a  T"});
        CHECK(shown(ok(symbols.find("b"))) == Texts{"ffffffff81000030 b  t"});
        CHECK(shown(ok(symbols.find("c"))) == Texts{"ffffffff81000040 c  t"});
        CHECK(shown(ok(symbols.find("d"))) == Texts{"ffffffff81000050 d m t"});
        CHECK(shown(ok(symbols.find("last"))) == Texts{"ffffffff81000060 last  T"});
    }
    CHECK(symbols.name_of(0xffffffff81000061) == "last+0x1");
}

TEST_CASE("a table as large as a kernel's: the same answers as by going through it, and fast") {
    std::mt19937_64 random(7);
    std::vector<Symbol> all;
    std::string text;
    uint64_t addr = 0xffffffff81000000;
    const char kinds[] = "tTtTtWwdDbBr";
    for (int i = 0; i < 200000; i++) {
        addr += 16 * (1 + random() % 64);
        // A tenth of the names is not unique.
        Symbol s{fmt::format("sym_{:x}_{}", random() % 180000, "abc"[random() % 3]),
                 i >= 150000 ? fmt::format("mod{}", i / 10000) : "", addr, kinds[random() % (sizeof(kinds) - 1)]};
        text +=
            fmt::format("{:016x} {} {}{}\n", s.addr, s.kind, s.name, s.module.empty() ? "" : "\t[" + s.module + "]");
        all.push_back(std::move(s));
    }
    TempFile file(text);
    auto now = [] { return std::chrono::steady_clock::now(); };
    auto ms = [](auto d) { return std::chrono::duration_cast<std::chrono::microseconds>(d).count() / 1000.0; };

    const auto start = now();
    Kallsyms symbols(file.path());
    (void)ok(symbols.find(all[0].name));
    const auto first = now();
    for (int i = 0; i < 100; i++) (void)ok(symbols.find(all[static_cast<size_t>(i)].name));
    const auto more = now();
    (void)symbols.name_of(all[0].addr);
    const auto named = now();
    (void)ok(symbols.near("sym_1234_d"));
    const auto near = now();
    std::cout << fmt::format(
        "200,000 symbols: first find {:.1f} ms, 100 more {:.1f} ms, first name_of {:.1f} ms, near {:.1f} "
        "ms\n",
        ms(first - start), ms(more - first), ms(named - more), ms(near - named));

    auto is_text = [](const Symbol& s) { return std::string("tTwW").find(s.kind) != std::string::npos; };
    for (int i = 0; i < 300; i++) {
        const Symbol& wanted = all[random() % all.size()];
        Texts expected;
        for (const Symbol& s : all)
            if (s.name == wanted.name && is_text(s) && s.module.empty()) expected.push_back(shown({s})[0]);
        // Modules are searched where vmlinux has none of that name.
        for (const Symbol& s : all)
            if (expected.empty() || expected.back().find(" mod") != std::string::npos)
                if (s.name == wanted.name && is_text(s) && !s.module.empty()) expected.push_back(shown({s})[0]);
        CHECK(shown(ok(symbols.find(wanted.name))) == expected);
        CHECK(ok(symbols.at(wanted.addr + random() % 16)).addr == wanted.addr);
    }
}

TEST_CASE("patterns") {
    struct Row {
        const char *pattern, *text;
        bool matches;
    };
    const Row rows[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "abc", true},
        {"a*", "abc", true},
        {"a*", "bac", false},
        {"*c", "abc", true},
        {"a*c", "abcbc", true},
        {"a*b*c", "a1b2b3c", true},
        {"a*b*c", "a1c2b", false},
        {"?", "a", true},
        {"?", "", false},
        {"a?c", "abc", true},
        {"[abc]", "b", true},
        {"[abc]", "d", false},
        {"[a-c]x", "bx", true},
        {"[!a-c]", "d", true},
        {"[^a-c]", "a", false},
        {"[]]", "]", true},
        {"[a-]", "-", true},
        {"[", "[", true},
        {"[ab", "[ab", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"**a", "ba", true},
        {"a**", "a", true},
        {"*[0-9]", "x7", true},
        {"*[0-9]", "x7a", false},
    };
    for (const Row& row : rows) {
        INFO(row.pattern << " on " << row.text);
        CHECK(glob_match(row.pattern, row.text) == row.matches);
    }
    // No blow-up on many stars.
    CHECK_FALSE(glob_match("*a*a*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}
