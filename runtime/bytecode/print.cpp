// SPDX-License-Identifier: MIT
// The listing of a function, as `luajit -bL` prints it, with names in the comments.
#include <fmt/format.h>

#include <set>

#include "bytecode/proto.hpp"

namespace kpl {
namespace {

constexpr size_t max_string = 40;  // bytes of a constant that are shown

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (unsigned char c : text.substr(0, max_string)) {
        if (c == '\n')
            out += "\\n";
        else if (c == '\r')
            out += "\\r";
        else if (c == '\t')
            out += "\\t";
        else if (c == '"' || c == '\\')
            (out += '\\') += static_cast<char>(c);
        else if (c < 0x20 || c >= 0x7f)
            out += fmt::format("\\{:03d}", c);
        else
            out += static_cast<char>(c);
    }
    return out + (text.size() > max_string ? "\"~" : "\"");
}

// As Lua prints numbers, but exact.
std::string number(double value) { return fmt::format("{}", value); }

std::string lines_of(const Proto& f) {
    return fmt::format("{}:{}-{}", f.loc(0).file, f.first_line, f.first_line + f.num_lines);
}

template <class... Visitors>
struct Overloaded : Visitors... {
    using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

std::string text_of(const TemplateValue& value) {
    return std::visit(
        Overloaded{[](Nil) { return std::string("nil"); }, [](bool b) { return std::string(b ? "true" : "false"); },
                   [](int32_t i) { return std::to_string(i); }, [](double d) { return number(d); },
                   [](const std::string& s) { return quoted(s); }},
        value);
}

std::string text_of(const TableTemplate& table) {
    std::string out;
    auto add = [&](const std::string& item) { out += (out.empty() ? "" : ", ") + item; };
    for (size_t i = 0; i < table.array.size(); i++)
        if (!std::holds_alternative<Nil>(table.array[i])) add(fmt::format("[{}]={}", i, text_of(table.array[i])));
    for (const auto& [key, value] : table.hash) add(fmt::format("[{}]={}", text_of(key), text_of(value)));
    return "{" + out + "}";
}

std::string text_of(const GcConst& constant) {
    return std::visit(
        Overloaded{[](const std::string& s) { return quoted(s); },
                   [](const std::shared_ptr<const Proto>& f) { return lines_of(*f); },
                   [](const TableTemplate& t) { return text_of(t); }, [](int64_t i) { return fmt::format("{}LL", i); },
                   [](uint64_t u) { return fmt::format("{}ULL", u); },
                   [](const Complex& c) { return fmt::format("{}+{}i", c.re, c.im); }},
        constant);
}

uint32_t target_of(uint32_t pc, const Insn& insn) {
    return static_cast<uint32_t>(static_cast<int64_t>(pc) + 1 + insn.jump());
}

// What an operand stands for; empty when the number says it all.
std::string meaning(const Proto& f, uint32_t pc, Mode mode, uint32_t value, Op op) {
    static constexpr std::string_view primitives[] = {"nil", "false", "true"};
    switch (mode) {
        case Mode::Dst:
        case Mode::Var: {
            const LocalVar* var = f.local_at(value, pc);
            if (!var && mode == Mode::Dst) var = f.local_at(value, pc + 1);  // begins with this instruction
            return var ? var->name : "";
        }
        case Mode::Uv: return value < f.upvalues.size() ? f.upvalues[value].name : "";
        case Mode::Pri: return value < 3 ? std::string(primitives[value]) : "";
        case Mode::Num:
            if (value >= f.num.size()) return "";
            return number(op == Op::TSETM ? f.num[value] - 0x1p52
                                          : f.num[value]);  // TSETM: the bias is a trick of the interpreter
        case Mode::Str:
        case Mode::Tab:
        case Mode::Func:
        case Mode::Cdata: return value < f.gc.size() ? text_of(f.gc[value]) : "";
        case Mode::None:
        case Mode::Base:
        case Mode::Rbase:
        case Mode::Lit:
        case Mode::Lits:
        case Mode::Jump: return "";
    }
    return "";
}

std::string line_of(const Proto& f, uint32_t pc, bool is_target) {
    const Insn& insn = f.code[pc];
    const OpModes& modes = op_modes(insn.op);
    std::string line = pc < f.lines.size() ? fmt::format("[{}]", f.lines[pc]) : "";
    std::string out = fmt::format("{:04} {:>7} {} {:<6} {:>3} ", pc, line, is_target ? "=>" : "  ", op_name(insn.op),
                                  modes.a == Mode::None ? "" : std::to_string(insn.a));
    if (modes.cd == Mode::Jump)
        out += fmt::format("=> {:04}", target_of(pc, insn));
    else if (!modes.has_d())
        out += fmt::format("{:>3} {:>3}", insn.b, insn.c);
    else if (modes.cd == Mode::Lits)
        out += fmt::format("{:>3}", insn.sd());
    else if (modes.cd != Mode::None)
        out += fmt::format("{:>3}", insn.c);

    std::string comment;
    auto add = [&](Mode mode, uint32_t value) {
        if (std::string text = meaning(f, pc, mode, value, insn.op); !text.empty())
            comment += (comment.empty() ? "" : ", ") + text;
    };
    add(modes.a, insn.a);
    add(modes.b, insn.b);
    add(modes.cd, insn.c);
    out.erase(out.find_last_not_of(' ') + 1);
    return comment.empty() ? out + "\n" : fmt::format("{:<36}; {}\n", out, comment);
}

}  // namespace

std::string print(const Proto& f) {
    std::set<uint32_t> targets;
    for (uint32_t pc = 1; pc < f.code.size(); pc++)
        if (op_modes(f.code[pc].op).cd == Mode::Jump) targets.insert(target_of(pc, f.code[pc]));

    std::string out = fmt::format("-- BYTECODE -- {}\n", lines_of(f));
    for (uint32_t pc = 1; pc < f.code.size(); pc++) out += line_of(f, pc, targets.contains(pc));
    for (const GcConst& constant : f.gc)
        if (auto child = std::get_if<std::shared_ptr<const Proto>>(&constant)) out += "\n" + print(**child);
    return out;
}

}  // namespace kpl
