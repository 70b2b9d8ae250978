// SPDX-License-Identifier: MIT
// Random functions compute in a handler what LuaJIT computes on 64-bit cdata. KPL_FUNCTIONS and KPL_SEED
// choose others than the fixed ones.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>
#include <lua.hpp>
#include <regex>

#include "lab.hpp"
#include "lua_random.hpp"

using namespace kpl;
using namespace kpl::test;

namespace {

// What LuaJIT computes; "stop WHY" where a handler stops.
std::string oracle(const RandomFunction& f, const std::array<int64_t, 4>& args) {
    std::unique_ptr<lua_State, decltype(&lua_close)> L(luaL_newstate(), lua_close);
    luaL_openlibs(L.get());
    // Interpreted: in a compiled trace, Debian's LuaJIT makes -1 of ffi.cast("unsigned int", 18446744073709551615ULL).
    luaJIT_setmode(L.get(), 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
    std::string code =
        std::string(LuaGenerator::oracle_prelude) + "local function f(a, b, c, d)\n" + f.oracle + "end\nreturn f(";
    for (size_t i = 0; i < 4; i++)
        code += fmt::format("{}ffi.cast('int64_t', {}ULL)", i ? ", " : "", static_cast<uint64_t>(args[i]));
    code += ")";
    if (luaL_dostring(L.get(), code.c_str())) {
        const std::string error = lua_tostring(L.get(), -1);
        return error == "DIV_ZERO" || error == "FOR_STEP" ? "stop " + error : "oracle: " + error;
    }
    return lua_tostring(L.get(), -1);
}

// Refusals that a random function may earn.
bool may_be_refused(const std::string& errors) {
    static const std::regex fair(
        "(t.lua:[0-9]+: (division by the constant 0|'for' step is zero|an unsigned value is compared "
        "with.*|'n0' is an integer.*|'[sux][0-2]' is (an integer|a string), and every.*)\n?)+");
    return std::regex_match(errors, fair);
}

std::string without_line(const std::string& out) {
    return out.starts_with("stop ") ? out.substr(0, out.find(" at ")) : out;
}

void print(const Coverage& coverage) {
    for (const auto& [op, cells] : coverage) {
        std::cout << "  " << op;
        for (const auto& [types, n] : cells) std::cout << "  " << types << " " << n;
        std::cout << "\n";
    }
}

}  // namespace

TEST_CASE("random functions compute what LuaJIT computes") {
    const char* count = std::getenv("KPL_FUNCTIONS");
    const char* first = std::getenv("KPL_SEED");
    const uint64_t functions = count ? std::stoull(count) : 2000, seed = first ? std::stoull(first) : 1;
    static constexpr int64_t edges[] = {0,
                                        1,
                                        -1,
                                        2,
                                        7,
                                        100,
                                        -100,
                                        int64_t{1} << 31,
                                        -(int64_t{1} << 31),
                                        int64_t{1} << 32,
                                        int64_t{1} << 53,
                                        INT64_MAX,
                                        INT64_MIN};
    Coverage coverage;
    size_t refused = 0, stopped = 0, endless = 0, runs = 0;
    for (uint64_t n = 0; n < functions; n++) {
        const RandomFunction f = LuaGenerator(seed + n, coverage).make();
        Lab lab;
        const std::string errors =
            lab.compile(std::string(LuaGenerator::handler_prelude) +
                        "kprobe { \"other\", budget = 1000000, pre = function(p, a, b, c, d)\n" + f.handler + "end }");
        INFO("seed " << seed + n << "\n" << f.handler);
        if (may_be_refused(errors)) {
            refused++;
            continue;
        }
        REQUIRE(errors == "");
        std::mt19937_64 random(seed + n);
        for (int run = 0; run < 2; run++) {
            std::array<int64_t, 4> args;
            for (size_t i = 0; i < 4; i++) {
                args[i] = edges[random() % std::size(edges)];
                lab.sim.regs[host_arch().args[i] / 8] = static_cast<uint64_t>(args[i]);
            }
            const std::vector<std::string> lines = lab.hit();
            REQUIRE(lines.size() == 1);
            if (lines[0].starts_with("stop BUDGET")) {
                endless++;  // LuaJIT would not end
                continue;
            }
            INFO("(" << args[0] << ", " << args[1] << ", " << args[2] << ", " << args[3] << ")");
            REQUIRE(without_line(lines[0]) == oracle(f, args));
            stopped += lines[0].starts_with("stop");
            runs++;
        }
    }
    std::cout << fmt::format("{} functions, {} refused, {} runs, {} of them stopped; operators by operand types:\n",
                             functions, refused, runs, stopped);
    print(coverage);
    CHECK(refused < functions / 2);
    CHECK(endless < functions / 10);
    CHECK(stopped < runs / 2);
    // Every operator met every combination of types that it can.
    if (functions < 2000) return;
    const auto reached = [&](std::initializer_list<const char*> ops, std::initializer_list<const char*> cells) {
        for (const char* op : ops)
            for (const char* types : cells) {
                INFO(op << " on " << types);
                CHECK(coverage[op][types] > 0);
            }
    };
    reached({"+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "~=", "bit.band", "bit.bor", "bit.bxor", "bit.lshift",
             "bit.rshift", "bit.arshift", "bit.rol", "bit.ror"},
            {"II", "IU", "UI", "UU"});
    reached(
        {"unary -", "bit.bnot", "bit.bswap", "ffi.cast int8_t", "ffi.cast uint8_t", "ffi.cast short",
         "ffi.cast unsigned short", "ffi.cast int", "ffi.cast unsigned int", "ffi.cast int64_t", "ffi.cast uint64_t"},
        {"I", "U"});
    reached({"and or", "larger"}, {"II", "UU"});
    size_t cells = 0;
    for (const auto& [op, types] : coverage) cells += types.size();
    std::cout << fmt::format("{} cells of {} operators reached\n", cells, coverage.size());
}
