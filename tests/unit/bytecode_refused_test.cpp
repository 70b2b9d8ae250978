// SPDX-License-Identifier: MIT
// Dumps that are not what the reader knows: each is refused with its reason, and none does harm.
#include <catch2/catch.hpp>
#include <random>

#include "bytecode/proto.hpp"
#include "lua_dumps.hpp"

using namespace kpl;

TEST_CASE("what is unknown is refused") {
    Lua lua;
    const std::string good = dump_of(lua, "return 1");
    auto refused = [&](size_t at, char byte, const char* reason) {
        std::string dump = good;
        dump[at] = byte;
        auto f = read(dump);
        REQUIRE_FALSE(f.ok());
        INFO(f.error().text);
        CHECK(f.error().text.find(reason) != std::string::npos);
    };
    REQUIRE(read(good).ok());
    refused(0, 'x', "no dump");
    refused(3, 3, "version 3");
    refused(4, 0x28, "flags 0x20");
    refused(4, 0x09, "big-endian");
    refused(4, 0x00, "GC64");
    auto ops = OpcodeMap::from_vmdef("FUNCF RET0  ");
    auto f = read_dump({reinterpret_cast<const uint8_t*>(good.data()), good.size()}, *ops);
    REQUIRE_FALSE(f.ok());
    CHECK(f.error().text.find("opcode") != std::string::npos);
    auto longer = read(good + "x");
    REQUIRE_FALSE(longer.ok());
    CHECK(longer.error().text.find("follow") != std::string::npos);
}

TEST_CASE("code that leaves its function is refused") {
    Lua lua;
    std::string names = lua.run("return require('jit.vmdef').bcnames");
    auto word = [&](const char* op, int a, int d) {
        std::string name(op);
        name.resize(6, ' ');
        return std::string{static_cast<char>(names.find(name) / 6), static_cast<char>(a), static_cast<char>(d & 0xff),
                           static_cast<char>(d >> 8)};
    };
    struct Row {
        const char *source, *op;
        int a, d;        // of the instruction that is there
        const char* to;  // what it is replaced by
        int to_a, to_d;
        const char* reason;
    };
    const Row rows[] = {
        {"local a = 1 return a", "KSHORT", 0, 1, "MOV", 0, 200, "out of range"},
        {"local a = 1 return a", "KSHORT", 0, 1, "KSHORT", 9, 1, "out of range"},
        {"local a = 1 return a", "KSHORT", 0, 1, "KSTR", 0, 0, "out of range"},
        {"local a = 1 return a", "KSHORT", 0, 1, "KPRI", 0, 3, "out of range"},
        {"local a = 1 return a", "KSHORT", 0, 1, "UGET", 0, 0, "out of range"},
        {"local a = 1 return a", "KSHORT", 0, 1, "JMP", 0, 0x8002, "out of range"},
        {"local a = 1 return a", "KSHORT", 0, 1, "JMP", 0, 0x7ffe, "out of range"},
        {"local a = 1 return a", "KSHORT", 0, 1, "KNIL", 0, 9, "out of range"},
        {"local a = 1 return a", "KSHORT", 0, 1, "FORI", 0, 0x8000, "frame"},
        {"local a = 1 return a", "KSHORT", 0, 1, "ISNEXT", 0, 0x8000, "frame"},
        {"local a = 1 return a", "KSHORT", 0, 1, "CALL", 0, 0x0109, "frame"},
        {"local a = 1 return a", "KSHORT", 0, 1, "CALL", 0, 0x0901, "frame"},
        {"local a = 1 return a", "KSHORT", 0, 1, "IST", 0, 0, "no jump"},
        {"local a = 1 return a", "RET1", 0, 2, "MOV", 0, 0, "no end"},
        {"local a = 1 return a", "RET1", 0, 2, "RET1", 0, 9, "frame"},
        {"local a, b, c = 1 return a", "KNIL", 1, 2, "KNIL", 1, 0, "reversed"},
    };
    for (const Row& row : rows) {
        INFO(row.to << " " << row.to_a << " " << row.to_d);
        std::string dump = dump_of(lua, row.source);
        const size_t at = dump.find(word(row.op, row.a, row.d));
        REQUIRE(at != std::string::npos);
        REQUIRE(read(dump).ok());
        dump.replace(at, 4, word(row.to, row.to_a, row.to_d));
        auto f = read(dump);
        REQUIRE_FALSE(f.ok());
        INFO(f.error().text);
        CHECK(f.error().text.find(row.reason) != std::string::npos);
    }
}

TEST_CASE("a dump that is cut anywhere is refused") {
    for (const char* source : sources) {
        Lua lua;
        const std::string dump = dump_of(lua, source);
        REQUIRE(read(dump).ok());
        for (size_t length = 0; length < dump.size(); length++) {
            // A copy of just that size, so that a read past it is seen by the sanitizer.
            std::vector<uint8_t> cut(dump.begin(), dump.begin() + static_cast<std::ptrdiff_t>(length));
            CHECK_FALSE(read_dump(cut, host_ops()).ok());
        }
    }
}

TEST_CASE("damaged dumps are read or refused, and print") {
    std::mt19937 random(1);
    int accepted = 0;
    for (const char* source : sources) {
        Lua lua;
        const std::string dump = dump_of(lua, source);
        for (int round = 0; round < 3000; round++) {
            std::vector<uint8_t> damaged(dump.begin(), dump.end());
            for (int n = 1 + static_cast<int>(random() % 3); n > 0; n--)
                damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
            auto f = read_dump(damaged, host_ops());
            if (!f) continue;
            accepted++;
            CHECK_FALSE(print(**f).empty());
        }
    }
    CHECK(accepted > 100);  // else this would test the header alone
}
