// SPDX-License-Identifier: MIT
// Each operator at the edges of 64-bit integers, on every combination of signed and unsigned operands, as variables and
// as literals: a handler computes what LuaJIT computes on cdata.
#include <catch2/catch.hpp>
#include <iostream>
#include <lua.hpp>

#include "lab.hpp"

using namespace kpl;
using namespace kpl::test;

namespace {

// Edges, with neighbours that tell a wrong sign or width.
constexpr int64_t edges[] = {0,
                             1,
                             -1,
                             7,
                             -7,
                             63,
                             64,
                             int64_t{1} << 31,
                             -(int64_t{1} << 31),
                             int64_t{1} << 32,
                             -(int64_t{1} << 32),
                             int64_t{1} << 53,
                             -(int64_t{1} << 53),
                             INT64_MAX,
                             INT64_MIN,
                             INT64_MIN + 1};

struct Operator {
    const char* name;
    const char* handler;  // $x and $y stand for the operands
    const char* oracle;
    bool divides = false, compares = false;
};
constexpr Operator binary[] = {
    {"+", "$x + $y", "$x + $y"},
    {"-", "$x - $y", "$x - $y"},
    {"*", "$x * $y", "$x * $y"},
    {"/", "$x / $y", "DIV($x, $y)", true},
    {"%", "$x % $y", "MOD($x, $y)", true},
    {"<", "$x < $y", "$x < $y", false, true},
    {"<=", "$x <= $y", "$x <= $y", false, true},
    {">", "$x > $y", "$x > $y", false, true},
    {">=", "$x >= $y", "$x >= $y", false, true},
    {"==", "$x == $y", "$x == $y", false, true},
    {"~=", "$x ~= $y", "$x ~= $y", false, true},
    {"bit.band", "bit.band($x, $y)", "bit.band($x, $y)"},
    {"bit.bor", "bit.bor($x, $y)", "bit.bor($x, $y)"},
    {"bit.bxor", "bit.bxor($x, $y)", "bit.bxor($x, $y)"},
    {"bit.lshift", "bit.lshift($x, $y)", "bit.lshift($x, $y)"},
    {"bit.rshift", "bit.rshift($x, $y)", "bit.rshift($x, $y)"},
    {"bit.arshift", "bit.arshift($x, $y)", "bit.arshift($x, $y)"},
    {"bit.rol", "bit.rol($x, $y)", "bit.rol($x, $y)"},
    {"bit.ror", "bit.ror($x, $y)", "bit.ror($x, $y)"},
};
constexpr Operator unary[] = {
    {"unary -", "-$x", "-$x"},
    {"bit.bnot", "bit.bnot($x)", "bit.bnot($x)"},
    {"bit.bswap", "bit.bswap($x)", "bit.bswap($x)"},
    {"bit.tobit", "bit.tobit($x)", "bit.tobit($x)"},
    {"int8_t", "ffi.cast('int8_t', $x)", "WIDE('int8_t', $x)"},
    {"uint8_t", "ffi.cast('uint8_t', $x)", "WIDE('uint8_t', $x)"},
    {"short", "ffi.cast('short', $x)", "WIDE('short', $x)"},
    {"unsigned short", "ffi.cast('unsigned short', $x)", "WIDE('unsigned short', $x)"},
    {"int", "ffi.cast('int', $x)", "WIDE('int', $x)"},
    {"unsigned int", "ffi.cast('unsigned int', $x)", "WIDE('unsigned int', $x)"},
    {"int64_t", "ffi.cast('int64_t', $x)", "ffi.cast('int64_t', $x)"},
    {"uint64_t", "ffi.cast('uint64_t', $x)", "ffi.cast('uint64_t', $x)"},
    {"for", "turns($x)", "turns($x)"},
};

// `turns` counts how often `for` runs that begins two steps of 1 below its limit, or at it.
constexpr const char* prelude = "local function turns(x) local n = 0; for i = x - 2, x do n = n + 1 end return n end\n";
constexpr const char* oracle_prelude =
    "local ffi, bit = require 'ffi', require 'bit'\n"
    "local function DIV(x, y) if y == 0 then error('stop DIV_ZERO', 0) end return x / y end\n"
    "local function MOD(x, y) if y == 0 then error('stop DIV_ZERO', 0) end return x % y end\n"
    "local function WIDE(t, x) return ffi.cast('int64_t', ffi.cast(t, x)) end\n"
    "local function turns(x) return x - 2 > x and 0 or 3 end\n"
    "local function text(v) return (tostring(v):gsub('U?LL$', '')) end\n";

std::string put(std::string text, const std::string& x, const std::string& y) {
    for (const auto& [mark, value] : {std::pair{std::string("$x"), x}, {std::string("$y"), y}})
        for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, 2, value);
    return text;
}

// A literal: plain where a handler takes a plain one, as LuaJIT has other opcodes for those.
std::string literal(int64_t n, char type, bool handler) {
    if (type == 'U') return std::to_string(static_cast<uint64_t>(n)) + "ULL";
    if (n == INT64_MIN) return "(-0x7fffffffffffffffLL - 1LL)";
    const bool plain = handler && n > -(int64_t{1} << 53) && n < (int64_t{1} << 53);
    return n < 0 ? fmt::format("({}{})", n, plain ? "" : "LL") : fmt::format("{}{}", n, plain ? "" : "LL");
}

// What LuaJIT computes, for functions of two int64_t.
class Oracle {
  public:
    Oracle() : L_(luaL_newstate(), lua_close) { luaL_openlibs(L_.get()); }
    // `results`: expressions over a and b.
    void function(const std::string& results) {
        const std::string code = std::string(oracle_prelude) +
                                 "return function(a, b)\n  a, b = ffi.cast('int64_t', ffi.cast('uint64_t', a)), "
                                 "ffi.cast('int64_t', ffi.cast('uint64_t', b))\n  local r = {" +
                                 results +
                                 "}\n  for i = 1, #r do r[i] = text(r[i]) end\n  return table.concat(r, '\\t')\nend";
        lua_settop(L_.get(), 0);
        if (luaL_dostring(L_.get(), code.c_str())) FAIL(lua_tostring(L_.get(), -1));
    }
    std::string call(int64_t a, int64_t b) {
        lua_State* L = L_.get();
        lua_settop(L, 1);
        lua_pushvalue(L, 1);
        for (int64_t n : {a, b}) {
            const std::string number = "return " + std::to_string(static_cast<uint64_t>(n)) + "ULL";
            if (luaL_dostring(L, number.c_str())) FAIL(lua_tostring(L, -1));
        }
        lua_pcall(L, 2, 1, 0);
        return lua_tostring(L, -1);
    }

  private:
    std::unique_ptr<lua_State, decltype(&lua_close)> L_;
};

std::string of_type(const char* name, char type) {
    return type == 'U' ? fmt::format("ffi.cast('uint64_t', {})", name) : name;
}

// One handler that prints `handler`, against `oracle`, for every pair of edges (`b` matters) or every edge.
size_t check(Oracle& oracle, const std::string& handler, const std::string& expected, bool pairs) {
    Lab lab;
    INFO(handler);
    const std::string errors =
        lab.compile(std::string(prelude) + "kprobe('other', function(p, a, b) print(" + handler + ") end)");
    REQUIRE(errors == "");
    oracle.function(expected);
    size_t runs = 0;
    for (int64_t a : edges)
        for (int64_t b : edges) {
            if (!pairs && b != 0) continue;
            lab.sim.regs[host_arch().args[0] / 8] = static_cast<uint64_t>(a);
            lab.sim.regs[host_arch().args[1] / 8] = static_cast<uint64_t>(b);
            const std::vector<std::string> lines = lab.hit();
            REQUIRE(lines.size() == 1);
            const std::string out =
                lines[0].starts_with("stop ") ? lines[0].substr(0, lines[0].find(" at ")) : lines[0];
            if (const std::string wanted = oracle.call(a, b); out != wanted) {
                INFO("a = " << a << ", b = " << b);
                REQUIRE(out == wanted);
            }
            runs++;
        }
    return runs;
}

// Whether the language refuses this literal beside an operand of type `other`.
bool refused(const Operator& op, int64_t n, char type, char other, bool right) {
    if (op.divides && right && n == 0) return true;
    return op.compares && type == 'I' && other == 'U' && n < 0;
}

}  // namespace

TEST_CASE("operators at the edges compute what LuaJIT computes") {
    Oracle oracle;
    size_t cells = 0, results = 0;
    for (const Operator& op : binary)
        for (const char* types : {"II", "IU", "UI", "UU"}) {
            const std::string x = of_type("a", types[0]), y = of_type("b", types[1]);
            results += check(oracle, put(op.handler, x, y), put(op.oracle, x, y), true);
            // The same with a literal on either side.
            for (const bool right : {true, false}) {
                std::string handler, expected;
                for (int64_t n : edges) {
                    const char type = types[right ? 1 : 0];
                    if (refused(op, n, type, types[right ? 0 : 1], right)) continue;
                    auto with = [&](const char* form, bool is_handler) {
                        const std::string l = literal(n, type, is_handler);
                        return right ? put(form, x, l) : put(form, l, y);
                    };
                    // Where the variable divides, all literals would stop at its 0: those are among the pairs above.
                    if (op.divides && !right) continue;
                    handler += (handler.empty() ? "" : ", ") + with(op.handler, true);
                    expected += (expected.empty() ? "" : ", ") + with(op.oracle, false);
                }
                if (!handler.empty()) results += check(oracle, handler, expected, !right);
            }
            cells++;
        }
    for (const Operator& op : unary)
        for (char type : {'I', 'U'}) {
            const std::string x = of_type("a", type);
            results += check(oracle, put(op.handler, x, ""), put(op.oracle, x, ""), false);
            cells++;
        }
    std::cout << fmt::format("{} operators and types at {} edges: {} runs agree\n", cells, std::size(edges), results);
    CHECK(cells == std::size(binary) * 4 + std::size(unary) * 2);
}
