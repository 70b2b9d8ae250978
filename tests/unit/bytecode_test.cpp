// SPDX-License-Identifier: MIT
// The reader against LuaJIT itself: what jit.util says of a function and what read_dump makes of its dump
// must agree.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bytecode/proto.hpp"
#include "lua_dumps.hpp"

using namespace kpl;

namespace {

std::shared_ptr<const Proto> proto_of(const std::string& source) {
    Lua lua;
    auto proto = read(dump_of(lua, source));
    if (!proto) FAIL(proto.error().text);
    return *proto;
}

// ---- one description of a function, written twice: by jit.util here …
const char* const describe_lua = R"lua(
local source, chunk = ...
local util, vmdef, ffi = require "jit.util", require "jit.vmdef", require "ffi"
local out = {}
local function add(...) out[#out + 1] = string.format(...) end
local function hex(s) return (s:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end
local function value(v)
  if type(v) == "string" then return "s" .. hex(v) end
  if type(v) == "number" then return ("n%.17g"):format(v) end
  return tostring(v)
end
local function describe(f)
  local info = util.funcinfo(f)
  add("function %s %d %d params=%d frame=%d vararg=%s", info.source, info.linedefined, info.lastlinedefined,
      info.params, info.stackslots, tostring(info.isvararg))
  for pc = 0, info.bytecodes - 1 do
    local ins, mode = util.funcbc(f, pc)
    local name = vmdef.bcnames:sub(6 * bit.band(ins, 255) + 1, 6 * bit.band(ins, 255) + 6):gsub(" ", "")
    local a, d = bit.band(bit.rshift(ins, 8), 255), bit.rshift(ins, 16)
    local line = util.funcinfo(f, pc).currentline
    if bit.band(mode, 15 * 8) == 0 then add("%d %s %d %d @%d", pc, name, a, d, line)
    else add("%d %s %d %d %d @%d", pc, name, a, bit.rshift(d, 8), bit.band(d, 255), line) end
    local ma, mb, mc = bit.band(mode, 7), bit.rshift(bit.band(mode, 15 * 8), 3), bit.rshift(bit.band(mode, 15 * 128), 7)
    add(" modes %d %d %d", ma, mb, mc)
  end
  for i = 0, info.nconsts - 1 do add("num %d %s", i, value(util.funck(f, i))) end
  for i = 0, info.upvalues - 1 do add("up %d %s", i, util.funcuvname(f, i)) end
  for i = 1, info.gcconsts do
    local k = util.funck(f, -i)
    if type(k) == "proto" then add("gc %d proto", i - 1) describe(k)
    elseif type(k) == "table" then
      local items = {}
      for key, v in pairs(k) do items[#items + 1] = value(key) .. "=" .. value(v) end
      table.sort(items)
      add("gc %d table %s", i - 1, table.concat(items, " "))
    elseif type(k) == "cdata" and tostring(ffi.typeof(k)):find("complex") then
      add("gc %d complex %.17g %.17g", i - 1, k.re, k.im)
    else add("gc %d %s", i - 1, value(k)) end
  end
end
describe(assert(loadstring(source, chunk)))
return table.concat(out, "\n") .. "\n"
)lua";

// … and by the reader's data.
std::string hex(const std::string& bytes) {
    std::string out = "s";
    for (unsigned char c : bytes) out += fmt::format("{:02x}", c);
    return out;
}

std::string number(double value) {
    char text[40];
    snprintf(text, sizeof(text), "n%.17g", value);
    return text;
}

std::string describe(const TemplateValue& value) {
    if (auto s = std::get_if<std::string>(&value)) return hex(*s);
    if (auto i = std::get_if<int32_t>(&value)) return number(*i);
    if (auto d = std::get_if<double>(&value)) return number(*d);
    if (auto b = std::get_if<bool>(&value)) return *b ? "true" : "false";
    return "nil";
}

std::string describe(const TableTemplate& table) {
    std::vector<std::string> items;
    for (size_t i = 0; i < table.array.size(); i++)
        if (!std::holds_alternative<Nil>(table.array[i]))
            items.push_back(number(static_cast<double>(i)) + "=" + describe(table.array[i]));
    for (const auto& [key, value] : table.hash)
        if (!std::holds_alternative<Nil>(value)) items.push_back(describe(key) + "=" + describe(value));
    std::sort(items.begin(), items.end());
    std::string out = "table ";
    for (size_t i = 0; i < items.size(); i++) out += (i ? " " : "") + items[i];
    return out;
}

void describe(const Proto& f, std::string& out);

void describe(const GcConst& constant, size_t index, std::string& out) {
    out += fmt::format("gc {} ", index);
    if (auto child = std::get_if<std::shared_ptr<const Proto>>(&constant)) {
        out += "proto\n";
        describe(**child, out);
        return;
    }
    if (auto s = std::get_if<std::string>(&constant)) out += hex(*s);
    if (auto t = std::get_if<TableTemplate>(&constant)) out += describe(*t);
    if (auto i = std::get_if<int64_t>(&constant)) out += fmt::format("{}LL", *i);
    if (auto u = std::get_if<uint64_t>(&constant)) out += fmt::format("{}ULL", *u);
    if (auto c = std::get_if<Complex>(&constant))
        out += "complex " + number(c->re).substr(1) + " " + number(c->im).substr(1);
    out += "\n";
}

// The order of LuaJIT's BCMode.
int luajit_mode(Mode mode) {
    switch (mode) {
        case Mode::None: return 0;
        case Mode::Dst: return 1;
        case Mode::Base: return 2;
        case Mode::Var: return 3;
        case Mode::Rbase: return 4;
        case Mode::Uv: return 5;
        case Mode::Lit: return 6;
        case Mode::Lits: return 7;
        case Mode::Pri: return 8;
        case Mode::Num: return 9;
        case Mode::Str: return 10;
        case Mode::Tab: return 11;
        case Mode::Func: return 12;
        case Mode::Jump: return 13;
        case Mode::Cdata: return 14;
    }
    return -1;
}

void describe(const Proto& f, std::string& out) {
    out += fmt::format("function {} {} {} params={} frame={} vararg={}\n", f.chunk, f.first_line,
                       f.first_line + f.num_lines, f.num_params, f.frame_size, f.vararg);
    for (size_t pc = 0; pc < f.code.size(); pc++) {
        const Insn& insn = f.code[pc];
        const OpModes& modes = op_modes(insn.op);
        out += fmt::format("{} {} {} ", pc, op_name(insn.op), insn.a);
        out += modes.has_d() ? fmt::format("{}", insn.c) : fmt::format("{} {}", insn.b, insn.c);
        out += fmt::format(" @{}\n modes {} {} {}\n", f.lines.at(pc), luajit_mode(modes.a), luajit_mode(modes.b),
                           luajit_mode(modes.cd));
    }
    for (size_t i = 0; i < f.num.size(); i++) out += fmt::format("num {} {}\n", i, number(f.num[i]));
    for (size_t i = 0; i < f.upvalues.size(); i++) out += fmt::format("up {} {}\n", i, f.upvalues[i].name);
    for (size_t i = 0; i < f.gc.size(); i++) describe(f.gc[i], i, out);
}

// The first line in which two texts differ: a listing of both would be thousands.
std::string first_difference(const std::string& a, const std::string& b) {
    std::istringstream x(a), y(b);
    std::string line_x, line_y;
    for (int n = 1;; n++) {
        bool more_x = static_cast<bool>(std::getline(x, line_x)), more_y = static_cast<bool>(std::getline(y, line_y));
        if (!more_x && !more_y) return "";
        if (more_x != more_y || line_x != line_y) return fmt::format("{}: {} | {}", n, line_x, line_y);
    }
}

void check_against_luajit(const std::string& source, const std::string& chunk) {
    Lua lua;
    std::string expected = lua.run(describe_lua, {source, chunk});
    auto proto = read(dump_of(lua, source, chunk));
    INFO((proto ? chunk : chunk + ": " + proto.error().text));
    REQUIRE(proto.ok());
    std::string got;
    describe(**proto, got);
    CHECK(first_difference(expected, got) == "");
}

}  // namespace

TEST_CASE("every opcode of the running LuaJIT has a name") {
    Lua lua;
    std::string names = lua.run("return require('jit.vmdef').bcnames");
    for (size_t i = 0; i < names.size() / 6; i++) {
        INFO(names.substr(i * 6, 6));
        REQUIRE(host_ops().at(static_cast<uint8_t>(i)) != Op::count_);
        CHECK(names.substr(i * 6, 6).starts_with(op_name(host_ops().at(static_cast<uint8_t>(i)))));
    }
    for (size_t i = names.size() / 6; i < 256; i++) CHECK(host_ops().at(static_cast<uint8_t>(i)) == Op::count_);
}

TEST_CASE("opcode tables are read by name") {
    auto map = OpcodeMap::from_vmdef("RET0  NEWOP KSHORT");
    REQUIRE(map.ok());
    CHECK(map->at(0) == Op::RET0);
    CHECK(map->at(1) == Op::count_);
    CHECK(map->at(2) == Op::KSHORT);
    CHECK(map->at(3) == Op::count_);
    CHECK_FALSE(OpcodeMap::from_vmdef("").ok());
    CHECK_FALSE(OpcodeMap::from_vmdef("RET0").ok());
    CHECK_FALSE(OpcodeMap::from_vmdef(std::string(257 * 6, 'X')).ok());
}

TEST_CASE("dumps read as LuaJIT sees them") {
    for (const char* source : sources) check_against_luajit(source, "@test.lua");
}

TEST_CASE("long functions: two- and four-byte line numbers") {
    for (int lines : {254, 255, 256, 300, 65535, 65536, 70000})
        check_against_luajit("local a = 1" + std::string(static_cast<size_t>(lines), '\n') + "return a + b", "=long");
}

TEST_CASE("LuaJIT's own Lua modules read as LuaJIT sees them") {
    Lua lua;
    std::filesystem::path dir =
        std::filesystem::path(lua.run("return package.searchpath('jit.bc', package.path)")).parent_path();
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir)) {
        std::ifstream in(entry.path());
        std::string source((std::istreambuf_iterator<char>(in)), {});
        check_against_luajit(source, "@" + entry.path().string());
        files++;
    }
    CHECK(files > 5);
}

TEST_CASE("local variables have the slots that the code uses") {
    auto f = proto_of(R"(local a = 1
        do local b = 2 local c = 3 f(b, c) end
        for i = 10, 20 do local d = 4 f(d) end
        local e, g = 5, 6
        for k, v in next, a do local h = 7 f(h) end
        local j = 8 f(j))");
    const std::pair<int, std::string> expected[] = {
        {1, "a"}, {2, "b"}, {3, "c"}, {10, "(for index)"}, {20, "(for limit)"}, {4, "d"}, {5, "e"},
        {6, "g"}, {7, "h"}, {8, "j"}};
    for (const auto& [literal, name] : expected) {
        INFO(name);
        auto found = std::find_if(f->code.begin(), f->code.end(),
                                  [l = literal](const Insn& insn) { return insn.op == Op::KSHORT && insn.sd() == l; });
        REQUIRE(found != f->code.end());
        // The scope begins after the last initialiser of the statement.
        const LocalVar* var = nullptr;
        auto pc = static_cast<uint32_t>(found - f->code.begin());
        for (uint32_t after = 1; after <= 3 && !var; after++) var = f->local_at(found->a, pc + after);
        REQUIRE(var);
        CHECK(var->name == name);
        CHECK(f->local_at(found->a, pc) != var);
    }
    CHECK(f->local_at(0, 0) == nullptr);
}

TEST_CASE("upvalues: where from, and whether ever assigned") {
    auto main = proto_of(R"(
        local fixed, changed = 1, 2
        changed = 3
        function outer(p)
          return function() return fixed, changed, p end
        end)");
    auto child = [](const Proto& f) {
        for (const GcConst& c : f.gc)
            if (auto p = std::get_if<std::shared_ptr<const Proto>>(&c)) return *p;
        return std::shared_ptr<const Proto>();
    };
    auto outer = child(*main);
    REQUIRE(outer);
    auto inner = child(*outer);
    REQUIRE(inner);
    auto upvalue = [](const Proto& f, const std::string& name) {
        for (const UpvalueDesc& u : f.upvalues)
            if (u.name == name) return u;
        FAIL("no upvalue " + name);
        return UpvalueDesc{};
    };
    CHECK(upvalue(*outer, "fixed").local);
    CHECK(upvalue(*outer, "fixed").immutable);
    CHECK(upvalue(*outer, "fixed").slot == 0);
    CHECK(upvalue(*outer, "changed").slot == 1);
    CHECK_FALSE(upvalue(*outer, "changed").immutable);
    CHECK_FALSE(upvalue(*inner, "fixed").local);
    CHECK(upvalue(*inner, "fixed").immutable);  // handed down
    CHECK_FALSE(upvalue(*inner, "changed").immutable);
    CHECK(upvalue(*inner, "p").local);
    CHECK(upvalue(*inner, "p").immutable);
    for (const UpvalueDesc& u : inner->upvalues) CHECK_FALSE(u.unknown);

    // Dumped by itself, the inner function does not tell; its twin in the dump of the chunk does.
    Lua lua;
    auto alone = read(lua.run(R"(
        assert(loadstring(..., "@test.lua"))() return string.dump(outer()))",
                              {R"(
        local fixed, changed = 1, 2
        changed = 3
        function outer(p)
          return function() return fixed, changed, p end
        end)"}));
    REQUIRE(alone.ok());
    CHECK(upvalue(**alone, "fixed").unknown);
    CHECK_FALSE(upvalue(**alone, "p").unknown);
    CHECK(same_code(*main, **alone) == inner.get());
    CHECK(same_code(*main, *main) == main.get());
    CHECK(same_code(*outer, *main) == nullptr);
}

TEST_CASE("places") {
    Lua lua;
    for (auto [chunk, file] : {std::pair{"@a/b.lua", "a/b.lua"}, {"=stdin", "stdin"}, {"x = 1", "x = 1"}}) {
        auto f = read(dump_of(lua, "\n\nreturn x", chunk));
        REQUIRE(f.ok());
        CHECK((*f)->loc(1) == SourceLoc{file, 3});
        CHECK((*f)->loc(0) == SourceLoc{file, 0});
        CHECK((*f)->loc(1000) == SourceLoc{file, 0});
    }
}

TEST_CASE("stripped dumps have no lines or names") {
    Lua lua;
    auto f = read(lua.run("return string.dump(assert(loadstring('local x = 1 return x')), true)"));
    REQUIRE(f.ok());
    CHECK((*f)->lines.empty());
    CHECK((*f)->locals.empty());
    CHECK((*f)->code.size() > 1);
}

TEST_CASE("printed code says what operands mean") {
    std::string text =
        print(*proto_of("local x, t = 1, {k = 5}\nif x == nil then f('a\\n') end\n"
                        "for i = 1, 3 do x = i + 0.5 end\nreturn function() return t, 7LL end"));
    for (const char* part : {"-- BYTECODE -- test.lua:0-4\n", "KSHORT   0   1", "TDUP     1   0", "; t, {[\"k\"]=5}",
                             "ISNEP    0   0", "; x, nil", "\"a\\n\"", "=> 00", "ADDVN    0   5   0  ; x, i, 0.5",
                             "; test.lua:4-4", "\n-- BYTECODE -- test.lua:4-4\n", "; 7LL", "[3]"}) {
        INFO(text);
        INFO(part);
        CHECK(text.find(part) != std::string::npos);
    }
}

TEST_CASE("printed code agrees with jit.bc") {
    // Without our line numbers and comments, and without its comments, both are one text.
    auto strip = [](const std::string& listing) {
        std::istringstream in(listing);
        std::string out, line;
        while (std::getline(in, line)) {
            if (line.empty() || line.starts_with("--")) continue;
            line = line.substr(0, line.find(';'));
            if (auto bracket = line.find('['); bracket != std::string::npos)
                line = line.substr(0, 4) + line.substr(line.find(']') + 1);
            line.erase(line.find_last_not_of(' ') + 1);
            out += line + "\n";
        }
        return out;
    };
    for (const char* source : sources) {
        Lua lua;
        std::string expected = lua.run(R"(
            local text = {}
            require("jit.bc").dump(assert(loadstring(...)),
              {write = function(_, ...) for i = 1, select("#", ...) do text[#text + 1] = select(i, ...) end end, flush = function() end}, false)
            return table.concat(text))",
                                       {source, "@test.lua"});
        std::string ours = print(*proto_of(source));
        if (auto nested = ours.find("\n-- "); nested != std::string::npos) ours.resize(nested + 1);
        CHECK(first_difference(strip(expected), strip(ours)) == "");
    }
}

TEST_CASE("a newer LuaJIT: opcodes moved, bit operators, a new flag") {
    Lua lua;
    std::string names = lua.run("return require('jit.vmdef').bcnames");
    if (names.find("BAND  ") == std::string::npos)
        names.insert(names.find("FUNCF "), "BNOT  BAND  BOR   BXOR  BSHL  BSHR  BSAR  ");
    auto ops = OpcodeMap::from_vmdef(names);
    REQUIRE(ops.ok());
    auto number = [&](const char* name) { return static_cast<char>(names.find(name) / 6); };

    std::string dump = dump_of(lua, "local a, b = 1, 2 return a + b");
    const size_t at = dump.find(std::string{number("ADDVV "), 2, 1, 0});
    REQUIRE(at != std::string::npos);
    dump[at] = number("BAND  ");
    dump[4] |= 0x10;                     // of the dump: uses bit operators
    const size_t flags = 5 + 1 + 9 + 1;  // behind the header, the length and text of "@test.lua", the function's length
    REQUIRE(dump[flags] == 0x02);        // vararg
    dump[flags] = static_cast<char>(0x82);
    auto f = read_dump({reinterpret_cast<const uint8_t*>(dump.data()), dump.size()}, *ops);
    if (!f) FAIL(f.error().text);
    CHECK((*f)->code[3] == Insn{Op::BAND, 2, 0, 1});
    CHECK((*f)->vararg);
    CHECK(print(**f).find("BAND     2   0   1  ; a, b") != std::string::npos);
}
