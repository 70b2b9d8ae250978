// SPDX-License-Identifier: MIT
// Random functions of the handler language, each with its translation to what LuaJIT computes on int64_t and
// uint64_t cdata: literals carry LL, division tests for 0, numeric for counts as the language does, narrow
// casts widen again.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace kpl::test {

struct RandomFunction {
    std::string handler;  // the body of a handler (p, a, b, c, d)
    std::string oracle;   // the body of a function (a, b, c, d) that returns what the handler prints
};

// How often each operator met each combination of operand types.
using Coverage = std::map<std::string, std::map<std::string, size_t>>;

class LuaGenerator {
  public:
    LuaGenerator(uint64_t seed, Coverage& coverage) : random_(seed), coverage_(coverage) {}

    // The handler prints its variables, or keeps them in p.data.
    RandomFunction make(bool keep = false) {
        line("local x0, x1, x2 = ", {literal(), literal(), variable('I')});
        line("local u0, u1 = ", {unsigned_literal(), unsigned_literal()});
        line("local f0, f1 = ", {boolean(1), {"false", "false", 'B'}});
        line("local s0, s1 = ", {string_literal(), string_literal()});
        line("local n0 = ", {{"nil", "nil", 'N'}});
        block(3, 6);
        line("if n0 then x0 = x0 + n0 end");
        if (keep) {
            for (const char* name : {"x0", "x1", "x2", "u0", "u1", "f0", "f1", "s0", "s1", "n0"})
                out_.handler += std::string("p.data.") + name + " = " + name + "\n";
            return out_;
        }
        out_.handler +=
            "printf(\"%d %d %d %u %u %s %s %s %s %d %d\", x0, x1, x2, u0, u1, f0, f1, s0, s1, #s0, n0 or "
            "-1)\n";
        out_.oracle += "return FORMAT(x0, x1, x2, u0, u1, f0, f1, s0, s1, #s0, n0 or -1)\n";
        return out_;
    }

    // Declarations that both sides begin with.
    static constexpr const char* handler_prelude =
        "local function larger(x, y) if x > y then return x end return y end\n"
        "local function clamp(x, hi) hi = hi or 100; if x > hi then return hi end return x end\n"
        "local function steps(x) local n = 0; while x ~= 0 and n < 5 do x = x / 2; n = n + 1 end return n "
        "end\n";
    static constexpr const char* oracle_prelude =
        "local ffi, bit = require 'ffi', require 'bit'\n"
        "local function larger(x, y) if x > y then return x end return y end\n"
        "local function clamp(x, hi) hi = hi or 100LL; if x > hi then return hi end return x end\n"
        "local function steps(x) local n = 0LL; while x ~= 0 and n < 5LL do x = x / 2LL; n = n + 1LL end "
        "return n end\n"
        "local function starts(s, p) return s:sub(1, #p) == p end\n"
        "local function DIV(x, y) if y == 0 then error('DIV_ZERO', 0) end return x / y end\n"
        "local function MOD(x, y) if y == 0 then error('DIV_ZERO', 0) end return x % y end\n"
        "local function WIDE(t, x) return ffi.cast('int64_t', ffi.cast(t, x)) end\n"
        "local function FOR(i, last, step)\n"
        "  if step == 0 then error('FOR_STEP', 0) end\n"
        "  local first = true\n"
        "  return function()\n"
        "    if first then\n"
        "      first = false\n"
        "      if step > 0 and i > last or step < 0 and i < last then return nil end\n"
        "      return i\n"
        "    end\n"
        "    local left, size = last - i, step\n"
        "    if step < 0 then left, size = i - last, -step end\n"
        "    if ffi.cast('uint64_t', left) < ffi.cast('uint64_t', size) then return nil end\n"
        "    i = i + step\n"
        "    return i\n"
        "  end\n"
        "end\n"
        "local function FORMAT(...)\n"
        "  local t = { ... }\n"
        "  for i = 1, select('#', ...) do t[i] = tostring(t[i]):gsub('U?LL$', '') end\n"
        "  return table.concat(t, ' ')\n"
        "end\n";

  private:
    struct Text {
        std::string k, o;  // for the handler, for the oracle
        char type;         // I, U, B; S; N: nil
        bool constant = false;
    };

    uint64_t below(uint64_t n) { return random_() % n; }
    bool chance(int percent) { return below(100) < static_cast<uint64_t>(percent); }
    void seen(const std::string& op, std::string types) { coverage_[op][types]++; }

    void line(const std::string& both) {
        out_.handler += both + "\n";
        out_.oracle += both + "\n";
    }
    void line(const std::string& both, const std::vector<Text>& list) {
        std::string k = both, o = both;
        for (size_t i = 0; i < list.size(); i++) {
            k += (i ? ", " : "") + list[i].k;
            o += (i ? ", " : "") + list[i].o;
        }
        out_.handler += k + "\n";
        out_.oracle += o + "\n";
    }

    // ---- expressions

    static std::string spell(int64_t n) {
        if (n == INT64_MIN) return "(-0x7fffffffffffffffLL - 1LL)";
        return n < 0 ? "(" + std::to_string(n) + "LL)" : std::to_string(n) + "LL";
    }
    int64_t edge() {
        static constexpr int64_t edges[] = {
            0,         1,        2, 3, 5, 7, 63, 64, 100, 255, int64_t{1} << 31, int64_t{1} << 32, int64_t{1} << 53,
            INT64_MAX, INT64_MIN};
        int64_t n = edges[below(std::size(edges))];
        if (chance(40)) n = static_cast<int64_t>(-static_cast<uint64_t>(n));
        if (chance(20)) n = static_cast<int64_t>(static_cast<uint64_t>(n) + below(3) - 1);
        return n;
    }
    Text literal() {
        const std::string s = spell(edge());
        return {s, s, 'I', true};
    }
    // Beside something that is no literal a plain number does: LuaJIT folds nothing there.
    Text plain_literal() {
        const int64_t n = static_cast<int64_t>(below(200)) - 100;
        const std::string s = n < 0 ? "(" + std::to_string(n) + ")" : std::to_string(n);
        return {s, spell(n), 'I', true};
    }
    Text unsigned_literal() {
        const std::string s = std::to_string(static_cast<uint64_t>(edge())) + "ULL";
        return {s, s, 'U', true};
    }
    Text string_literal() {
        static constexpr const char* strings[] = {"\"\"",       "\"a\"", "\"ab\"", "\"abc\"", "\"sixteen bytes at\"",
                                                  "\"ab\\0cd\""};
        const std::string s = strings[below(5)];
        return {s, s, 'S'};
    }
    Text variable(char type) {
        static constexpr const char* ints[] = {"a", "b", "c", "d", "x0", "x1", "x2"};
        std::string s;
        switch (type) {
            case 'I':
                // Before the locals are declared, only parameters.
                s = ints[below(out_.handler.find("local u0") == std::string::npos ? 4 : 7)];
                if (loops_ && chance(25)) s = "i" + std::to_string(below(loops_));
                break;
            case 'U': s = chance(50) ? "u0" : "u1"; break;
            case 'B': s = chance(50) ? "f0" : "f1"; break;
            default: s = chance(50) ? "s0" : "s1"; break;
        }
        return {s, s, type};
    }

    Text call(const std::string& name, const Text& x, const Text& y, char type) {
        seen(name, std::string{x.type, y.type});
        return {name + "(" + x.k + ", " + y.k + ")", name + "(" + x.o + ", " + y.o + ")", type};
    }

    Text arithmetic(char type, int depth) {
        static constexpr const char* ops[] = {"+", "-", "*", "/", "%"};
        const std::string op = ops[below(5)];
        Text x = number(type, depth - 1);
        Text y = number(type == 'U' && chance(40) ? 'I' : type, depth - 1);
        if (!x.constant && chance(25)) y = plain_literal();
        if (chance(30)) std::swap(x, y);
        if (type == 'I' && (x.type == 'U' || y.type == 'U')) return literal();
        seen(op, std::string{x.type, y.type});
        const std::string k = "(" + x.k + " " + op + " " + y.k + ")";
        if (op == "/") return {k, "DIV(" + x.o + ", " + y.o + ")", type};
        if (op == "%") return {k, "MOD(" + x.o + ", " + y.o + ")", type};
        return {k, "(" + x.o + " " + op + " " + y.o + ")", type};
    }

    Text bits(char type, int depth) {
        static constexpr const char* two[] = {"bit.band", "bit.bor", "bit.bxor"};
        static constexpr const char* shifts[] = {"bit.lshift", "bit.rshift", "bit.arshift", "bit.rol", "bit.ror"};
        const Text x = number(type, depth - 1);
        switch (below(4)) {
            case 0: {
                const Text y = number(type == 'U' && chance(40) ? 'I' : type, depth - 1);
                const char* name = two[below(3)];
                return chance(50) ? call(name, x, y, type) : call(name, y, x, type);
            }
            case 1: {
                const std::string name = chance(50) ? "bit.bnot" : "bit.bswap";
                seen(name, std::string{x.type});
                return {name + "(" + x.k + ")", name + "(" + x.o + ")", type};
            }
            default:
                return call(shifts[below(5)], x, chance(50) ? literal() : number(chance(80) ? 'I' : 'U', depth - 1),
                            type);
        }
    }

    Text casted(char type, int depth) {
        static constexpr const char* narrow[] = {"int8_t", "uint8_t", "short", "unsigned short", "int", "unsigned int"};
        const Text x = number(chance(50) ? 'I' : 'U', depth - 1);
        if (type == 'U' || chance(30)) {
            const std::string t = type == 'U' ? "uint64_t" : "int64_t";
            seen("ffi.cast " + t, std::string{x.type});
            return {"ffi.cast(\"" + t + "\", " + x.k + ")", "ffi.cast(\"" + t + "\", " + x.o + ")", type};
        }
        const std::string t = narrow[below(std::size(narrow))];
        seen("ffi.cast " + t, std::string{x.type});
        return {"ffi.cast(\"" + t + "\", " + x.k + ")", "WIDE(\"" + t + "\", " + x.o + ")", type};
    }

    Text number(char type, int depth) {
        if (depth <= 0 || chance(20)) {
            if (chance(60)) return variable(type);
            return type == 'U' ? unsigned_literal() : literal();
        }
        switch (below(8)) {
            case 0:
            case 1:
            case 2: return arithmetic(type, depth);
            case 3: return bits(type, depth);
            case 4: return casted(type, depth);
            case 5: {
                const Text c = boolean(depth - 1), x = number(type, depth - 1), y = number(type, depth - 1);
                seen("and or", std::string{x.type, y.type});
                return {"(" + c.k + " and " + x.k + " or " + y.k + ")", "(" + c.o + " and " + x.o + " or " + y.o + ")",
                        type};
            }
            case 6: {
                const Text x = number(type, depth - 1);
                seen("unary -", std::string{x.type});
                return {"(-" + x.k + ")", "(-" + x.o + ")", type};
            }
            default: break;
        }
        if (type == 'U') return call("larger", number('U', depth - 1), number('U', depth - 1), 'U');
        const Text x = number('I', depth - 1);
        switch (below(4)) {
            case 0: return call("larger", x, number('I', depth - 1), 'I');
            case 1: return call("clamp", x, number('I', depth - 1), 'I');
            case 2: return {"steps(" + x.k + ")", "steps(" + x.o + ")", 'I'};
            default: return {"(n0 or " + x.k + ")", "(n0 or " + x.o + ")", 'I'};
        }
    }

    Text boolean(int depth) {
        static constexpr const char* compares[] = {"<", "<=", ">", ">=", "==", "~="};
        if (depth <= 0 || chance(15)) {
            if (out_.handler.find("local f0") != std::string::npos && chance(70)) return variable('B');
            const std::string s = chance(50) ? "true" : "false";
            return {s, s, 'B'};
        }
        switch (below(7)) {
            case 0: {
                const Text x = boolean(depth - 1);
                return {"(not " + x.k + ")", "(not " + x.o + ")", 'B'};
            }
            case 1: {
                const Text x = boolean(depth - 1), y = boolean(depth - 1);
                const std::string op = chance(50) ? " and " : " or ";
                return {"(" + x.k + op + y.k + ")", "(" + x.o + op + y.o + ")", 'B'};
            }
            case 2: {
                if (out_.handler.find("local n0") == std::string::npos) break;
                const std::string s = chance(50) ? "(s0 == s1)" : chance(50) ? "starts(s0, \"ab\")" : "(n0 == nil)";
                return {s, s, 'B'};
            }
            default: break;
        }
        const std::string op = compares[below(6)];
        Text x = number(chance(60) ? 'I' : 'U', depth - 1);
        Text y = number(chance(60) ? 'I' : 'U', depth - 1);
        if (!x.constant && x.type == 'I' && chance(30)) y = plain_literal();
        // A negative constant beside an unsigned value is refused.
        if (x.type != y.type && x.constant) x = variable(x.type);
        if (x.type != y.type && y.constant) y = variable(y.type);
        if (chance(30)) std::swap(x, y);
        seen(op, std::string{x.type, y.type});
        return {"(" + x.k + " " + op + " " + y.k + ")", "(" + x.o + " " + op + " " + y.o + ")", 'B'};
    }

    // ---- statements

    void block(int depth, int count) {
        for (int n = 0; n < count; n++) statement(depth);
    }

    void statement(int depth) {
        switch (below(depth > 0 ? 13 : 8)) {
            case 0:
            case 1:
            case 2: line(chance(50) ? "x0 = " : chance(50) ? "x1 = " : "x2 = ", {number('I', 3)}); return;
            case 3: line(chance(50) ? "u0 = " : "u1 = ", {number('U', 3)}); return;
            case 4: line(chance(50) ? "f0 = " : "f1 = ", {boolean(3)}); return;
            case 5: string_statement(); return;
            case 6: {
                const Text c = boolean(2), x = number('I', 2);
                line("n0 = ", {{c.k + " and " + x.k + " or nil", c.o + " and " + x.o + " or nil", 'N'}});
                return;
            }
            case 7: line("x0, x1 = x1, ", {number('I', 2)}); return;
            case 8:
            case 9: if_statement(depth); return;
            case 10: for_statement(depth); return;
            case 11: while_statement(depth); return;
            default:
                line("if n0 then x1 = x1 + n0 else x2 = ", {number('I', 2)});
                line("end");
                return;
        }
    }

    void string_statement() {
        if (chance(30)) {
            line("s0, s1 = s1, s0");
            return;
        }
        const Text c = boolean(2), x = chance(50) ? string_literal() : variable('S'), y = string_literal();
        line(chance(50) ? "s0 = " : "s1 = ",
             {{"(" + c.k + " and " + x.k + " or " + y.k + ")", "(" + c.o + " and " + x.o + " or " + y.o + ")", 'S'}});
    }

    void if_statement(int depth) {
        line("if ", {boolean(3)});
        line("then");
        block(depth - 1, 2);
        if (chance(60)) {
            line("else");
            block(depth - 1, 2);
        }
        line("end");
    }

    void inside_loop(int depth, int label) {
        loops_++;
        line("do");
        block(depth - 1, 2);
        if (chance(40)) {
            line("if ", {boolean(2)});
            line(chance(50) ? "then break end" : "then goto continue" + std::to_string(label) + " end");
        }
        line("end");
        loops_--;
        line("::continue" + std::to_string(label) + "::");
    }

    void for_statement(int depth) {
        if (loops_ >= 2) return;
        const std::string i = "i" + std::to_string(loops_);
        const Text first = chance(70) ? plain_literal() : number('I', 1);
        const int64_t step = static_cast<int64_t>(below(5)) - 2;
        // Few turns: the limit is near to the start, or as far as a masked number.
        Text last{"bit.band(" + variable('I').k + ", 7)", "", 'I'};
        last.o = last.k;
        if (chance(50)) {
            const std::string far = spell(static_cast<int64_t>(below(9)) - 4);
            last = {"(" + first.k + " + " + far + ")", "(" + first.o + " + " + far + ")", 'I'};
            if (first.constant) last.k = "(" + first.o + " + " + far + ")";
        } else if (!first.constant || chance(50)) {
            return;
        }
        const std::string s = chance(70) ? spell(step) : "(bit.band(" + variable('I').k + ", 3) - " + spell(1) + ")";
        const int label = ++labels_;
        out_.handler += "for " + i + " = " + first.k + ", " + last.k + ", " + s + " do\n";
        out_.oracle += "for " + i + " in FOR(" + first.o + ", " + last.o + ", " + s + ") do\n";
        inside_loop(depth, label);
        line("end");
    }

    void while_statement(int depth) {
        if (loops_ >= 2) return;
        const std::string w = "i" + std::to_string(loops_);
        line("do local " + w + " = ", {{"0", "0LL", 'I'}});
        const Text c = boolean(2);
        const std::string bound = std::to_string(below(6));
        const bool repeats = chance(40);
        const int label = ++labels_;
        if (repeats) {
            line("repeat");
        } else {
            out_.handler += "while " + w + " < " + bound + " and " + c.k + " do\n";
            out_.oracle += "while " + w + " < " + bound + " and " + c.o + " do\n";
        }
        out_.handler += w + " = " + w + " + 1\n";
        out_.oracle += w + " = " + w + " + 1LL\n";
        inside_loop(depth, label);
        if (repeats) {
            out_.handler += "until " + w + " >= " + bound + " or " + c.k + "\n";
            out_.oracle += "until " + w + " >= " + bound + " or " + c.o + "\n";
        } else {
            line("end");
        }
        line("end");
    }

    std::mt19937_64 random_;
    Coverage& coverage_;
    RandomFunction out_;
    size_t loops_ = 0;
    int labels_ = 0;
};

}  // namespace kpl::test
