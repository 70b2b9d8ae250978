// SPDX-License-Identifier: MIT
// A table such as scripts/kallsyms.c of Linux writes, in memory of our own.
#include "symbols/kernel_names.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <map>

#include "symbols/boot_cache.hpp"
#include "symbols/module_names.hpp"
#include "temp_dir.hpp"

using namespace kpl;
using namespace kpl::test;

namespace {

struct Table {
    static constexpr uint64_t names_at = 0x10000, tokens_at = 0x20000;
    std::vector<std::pair<std::string, int32_t>> symbols;  // kind and name, offset
    uint64_t base = 0xffffffff81000000;
    uint64_t stext = 0xffffffff81000000;
    std::string without;  // a line that VMCOREINFO lacks
    bool cut = false;     // the first name seems to go on behind the table

    std::map<uint64_t, std::vector<uint8_t>> memory;

    void put(uint64_t addr, const void* bytes, size_t size) {
        const auto* from = static_cast<const uint8_t*>(bytes);
        memory[addr].assign(from, from + size);
    }
    // Tokens 1 to 255 are characters, but for 200 ("Tvfs_") and 201 ("read").
    void write() {
        std::string text;
        uint16_t index[256];
        for (int i = 0; i < 256; i++) {
            index[i] = static_cast<uint16_t>(text.size());
            text += i == 200 ? "Tvfs_" : i == 201 ? "read" : std::string(1, static_cast<char>(i ? i : '?'));
            text += '\0';
        }
        text.resize(text.size() + 300);
        std::vector<uint8_t> names;
        std::vector<int32_t> offsets;
        for (const auto& [name, offset] : symbols) {
            std::string code = name;
            if (code.starts_with("Tvfs_")) code = "\xc8" + code.substr(5);
            if (const auto at = code.find("read"); at != std::string::npos) code.replace(at, 4, "\xc9");
            if (code.size() >= 0x80) names.push_back(static_cast<uint8_t>(0x80 | (code.size() & 0x7f)));
            names.push_back(static_cast<uint8_t>(code.size() >= 0x80 ? code.size() >> 7 : code.size()));
            names.insert(names.end(), code.begin(), code.end());
            offsets.push_back(offset);
        }
        if (cut) names.assign({0xff, 0xff});
        names.resize(tokens_at - names_at);
        const auto count = static_cast<uint32_t>(symbols.size());
        put(0x1000, &count, sizeof count);
        put(tokens_at, text.data(), text.size());
        put(0x8000, index, sizeof index);
        put(names_at, names.data(), names.size());
        put(0x800000, offsets.data(), offsets.size() * 4);
        put(0x900000, &base, sizeof base);
    }
    std::string vmcoreinfo() const {
        std::string text = "OSRELEASE=6.1.0\n";
        const std::pair<const char*, uint64_t> places[] = {{"kallsyms_num_syms", 0x1000},
                                                           {"kallsyms_token_table", tokens_at},
                                                           {"kallsyms_token_index", 0x8000},
                                                           {"kallsyms_names", names_at},
                                                           {"kallsyms_offsets", 0x800000},
                                                           {"kallsyms_relative_base", 0x900000},
                                                           {"_stext", stext}};
        char line[100];
        for (const auto& [name, addr] : places) {
            snprintf(line, sizeof line, "SYMBOL(%s)=%llx\n", name, static_cast<unsigned long long>(addr));
            if (name != without) text += line;
        }
        return text;
    }
    std::optional<KernelNames> load() {
        write();
        return KernelNames::load(vmcoreinfo(), [this](uint64_t addr, std::span<uint8_t> into) {
            auto after = memory.upper_bound(addr);
            if (after == memory.begin()) return false;
            const auto& [start, bytes] = *std::prev(after);
            if (addr - start + into.size() > bytes.size()) return false;
            memcpy(into.data(), bytes.data() + (addr - start), into.size());
            return true;
        });
    }
};

std::vector<uint64_t> addresses(const KernelNames& names, const std::string& name) {
    std::vector<uint64_t> found;
    for (const auto& one : names.find(name)) found.push_back(one.addr);
    return found;
}

Table usual() {
    Table table;
    table.symbols = {{"T_stext", 0},        {"Tvfs_read", 0x100}, {"tread", 0x200},
                     {"Tvfs_readv", 0x300}, {"dvfs_data", 0x400}, {"t" + std::string(200, 'x'), 0x500},
                     {"tread", 0x600},      {"bx", 0x700}};
    return table;
}

}  // namespace

TEST_CASE("names in the kernel's own table") {
    auto table = usual();
    const auto names = table.load();
    REQUIRE(names);
    CHECK(addresses(*names, "vfs_read") == std::vector<uint64_t>{0xffffffff81000100});
    CHECK(addresses(*names, "vfs_readv") == std::vector<uint64_t>{0xffffffff81000300});
    CHECK(addresses(*names, "read") == std::vector<uint64_t>{0xffffffff81000200, 0xffffffff81000600});
    CHECK(addresses(*names, std::string(200, 'x')) == std::vector<uint64_t>{0xffffffff81000500});
    CHECK(names->find("vfs_data").at(0).kind == 'd');
    CHECK(names->find("vfs_read").at(0).kind == 'T');
    CHECK(addresses(*names, "x").size() == 1);
    for (const char* absent : {"", "v", "vfs_", "vfs_rea", "vfs_reads", "Tvfs_read", "xx"})
        CHECK(names->find(absent).empty());
}

TEST_CASE("a table of several pieces") {
    auto table = usual();
    for (int32_t i = 0; i < 4000; i++) table.symbols.push_back({fmt::format("tf_{}", i * i), 0x1000 + 16 * i});
    const auto names = table.load();
    REQUIRE(names);
    for (const int i : {0, 1, 1500, 2000, 2047, 2500, 3999}) {
        const std::string name = fmt::format("f_{}", i * i);
        CHECK(addresses(*names, name) == std::vector<uint64_t>{table.base + 0x1000 + 16 * static_cast<uint64_t>(i)});
    }
    size_t count = 0;
    CHECK(names->each('f', [&](uint64_t addr, char, std::string_view name) {
        count += name == fmt::format("f_{}", ((addr - table.base - 0x1000) / 16) * ((addr - table.base - 0x1000) / 16));
    }));
    CHECK(count == 4000);
}

TEST_CASE("addresses where per-CPU symbols are absolute") {
    auto table = usual();
    table.symbols.insert(table.symbols.begin(), {"Dper_cpu_start", 0x40});
    for (auto& [name, offset] : table.symbols)
        if (name != "Dper_cpu_start") offset = -1 - offset;
    const auto names = table.load();
    REQUIRE(names);
    CHECK(addresses(*names, "vfs_read") == std::vector<uint64_t>{0xffffffff81000100});
    CHECK(addresses(*names, "per_cpu_start") == std::vector<uint64_t>{0x40});
}

TEST_CASE("a table that can't be trusted is not used") {
    auto table = usual();
    SECTION("it is not said where it lies") { table.without = "kallsyms_names"; }
    SECTION("_stext is elsewhere") { table.stext++; }
    SECTION("_stext is not said") { table.without = "_stext"; }
    SECTION("there is no _stext") { table.symbols[0].first = "Tother"; }
    SECTION("its names end before _stext") { table.cut = true; }
    SECTION("there are no symbols") { table.symbols.clear(); }
    CHECK_FALSE(table.load());
}

TEST_CASE("all names that begin so") {
    auto table = usual();
    table.symbols.push_back({"D", 0x800});  // a kind, and no name
    const auto names = table.load();
    REQUIRE(names);
    const auto all = [&](char begin) {
        std::string text;
        CHECK(names->each(begin, [&](uint64_t addr, char kind, std::string_view name) {
            text += fmt::format("{:x} {} {:.9}\n", addr & 0xfff, kind, name);
        }));
        return text;
    };
    CHECK(
        all(0) ==
        "0 T _stext\n100 T vfs_read\n200 t read\n300 T vfs_readv\n400 d vfs_data\n500 t xxxxxxxxx\n600 t read\n700 b x\n"
        "800 D \n");
    CHECK(all('v') == "100 T vfs_read\n300 T vfs_readv\n400 d vfs_data\n");
    CHECK(all('x') == "500 t xxxxxxxxx\n700 b x\n");
    CHECK(all('q').empty());
}

namespace {

constexpr uint64_t top = uint64_t{1} << 63;

// Two modules in the kernel's list, and one that is not ready.
struct Modules {
    static constexpr ModuleLayout layout{.kallsyms = 100, .symtab = 0, .num_symtab = 8, .strtab = 16, .typetab = 24};
    std::vector<uint8_t> memory = std::vector<uint8_t>(0x10000);

    template <class T>
    void put(uint64_t at, T value) {
        memcpy(&memory[at], &value, sizeof value);
    }
    void put(uint64_t at, std::string_view text) { memcpy(&memory[at], text.data(), text.size()); }
    void symbol(uint64_t at, uint32_t name, uint16_t section, uint64_t value) {
        put(at, Elf64_Sym{name, 0, 0, section, value, 0});
    }
    Modules() {
        const uint64_t modules[] = {0x1000, 0x2000, 0x3000};
        uint64_t next = 0;
        for (int i = 2; i >= 0; i--) {
            put(modules[i], uint32_t{i == 1 ? 3u : 0u});
            put(modules[i] + 8, top + next);
            put(modules[i] + 24, i == 0 ? std::string_view("one") : std::string_view("two"));
            put(modules[i] + 100, top + (i == 0 ? 0x4000 : 0x5000));
            next = modules[i] + 8;
        }
        put(0, top + next);
        put(0x4000, top + 0x6000);
        put(0x4008, uint32_t{3});
        put(0x4010, top + 0x7000);
        put(0x4018, top + 0x8000);
        symbol(0x6000, 0, 0, 0);
        symbol(0x6018, 1, 1, 0x1111);
        symbol(0x6030, 7, 1, 0x2222);
        put(0x7000, std::string_view("\0first\0second", 13));
        put(0x8000, std::string_view("?tD"));
    }
    std::string all() const {
        std::string text;
        const auto read = [this](uint64_t addr, std::span<uint8_t> into) {
            if (addr < top || addr - top + into.size() > memory.size()) return false;
            memcpy(into.data(), &memory[addr - top], into.size());
            return true;
        };
        const bool whole = each_module_symbol(top, layout, read, [&](const ModuleSymbol& s) {
            text += fmt::format("{:x} {} {} {}\n", s.addr, s.kind, s.name, s.module);
        });
        return whole ? text : "no";
    }
};

}  // namespace

TEST_CASE("symbols of modules in the kernel's memory") {
    Modules modules;
    CHECK(modules.all() == "1111 t first one\n2222 D second one\n");
    SECTION("a list that does not end") {
        modules.put(0x3008, top + 0x1008);
        CHECK(modules.all() == "no");
    }
    SECTION("a list that leads nowhere") {
        modules.put(0x3008, uint64_t{0x1008});
        CHECK(modules.all() == "no");
    }
    SECTION("a table that is too large") {
        modules.put(0x4008, uint32_t{1} << 30);
        CHECK(modules.all() == "no");
    }
    SECTION("names beyond the memory") {
        modules.put(0x6030, uint32_t{0xfffff});
        CHECK(modules.all() == "no");
    }
    SECTION("a name without an end") {
        const std::string endless(56, 'x');
        modules.put(0x1000 + 24, std::string_view(endless));
        CHECK(modules.all() == "no");
    }
    SECTION("no modules") {
        modules.put(0, top);
        CHECK(modules.all().empty());
    }
}

TEST_CASE("what is kept for the next start") {
    const TempDir dir;
    const std::string base = dir / "cache";
    setenv("KPROBE_LUA_CACHE", base.c_str(), 1);
    const std::string one = "one", other = "another";
    const auto bytes = [](const std::string& text) {
        return std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    };
    const auto text = [](const std::optional<Mapping>& m) {
        return m ? std::string(m->data(), m->data() + m->size()) : "-";
    };
    CHECK_FALSE(cached("file"));
    keep_cached("file", bytes(one));
    CHECK(text(cached("file")) == one);
    keep_cached("file", bytes(other));
    CHECK(text(cached("file")) == other);
    // Where others may write, nothing is believed.
    std::filesystem::permissions(base, std::filesystem::perms::all);
    CHECK_FALSE(cached("file"));
    setenv("KPROBE_LUA_CACHE", "off", 1);
    keep_cached("file", bytes(one));
    CHECK_FALSE(cached("file"));
    unsetenv("KPROBE_LUA_CACHE");
}
