// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "ir/ir.hpp"
#include "ir/visit.hpp"

namespace kpl::ir {
namespace {

constexpr const char* op_names[] = {
    "const",    "phi",         "hit",      "reg",       "add",     "sub",       "mul",      "udiv",
    "umod",     "sdiv",        "smod",     "and",       "or",      "xor",       "shl",      "shr",
    "sar",      "neg",         "not",      "sext",      "zext",    "cmp",       "select",   "read",
    "softread", "statusclear", "loaddata", "storedata", "loadreg", "storereg",  "loadslot", "storeslot",
    "call",     "emit",        "aggadd",   "mapget",    "mapset",  "mapdelete", "mapadd"};
static_assert(std::size(op_names) == static_cast<size_t>(Opcode::MapAdd) + 1);

constexpr const char* cmp_names[] = {"==", "!=", "<", "<=", ">", ">=", "u<", "u<=", "u>", "u>="};

const char* stop_name(kpl_stop reason) {
    switch (reason) {
#define STOP(name, class, text) \
    case KPL_STOP_##name:       \
        return #name;
#include "uapi/stops.def"
#undef STOP
        default: return "?";
    }
}

std::string str(const StrRef& s) {
    std::string text = fmt::format("{}{}", s.where == StrRef::Where::Slot ? "s" : "data+", s.index);
    if (s.offset) text += fmt::format("+{}", s.offset);
    return text + fmt::format("[{}]", s.limit);
}

std::string operand(const Operand& o) {
    struct Visitor {
        std::string operator()(ValueId v) const { return fmt::format("v{}", v); }
        std::string operator()(const ConstOperand& c) const { return fmt::format("{}", c.value); }
        std::string operator()(const HitOperand&) const { return "hit"; }
        std::string operator()(const StrOperand& s) const { return str(s.str); }
        std::string operator()(const SlotOperand& s) const { return fmt::format("s{}+{}", s.slot, s.offset); }
    };
    return std::visit(Visitor{}, o);
}

std::string fields(const std::vector<FieldStore>& stores) {
    std::string text;
    for (const FieldStore& f : stores) {
        if (!text.empty()) text += ", ";
        text += fmt::format("{}: ", f.offset);
        if (const auto* v = std::get_if<ValueId>(&f.value))
            text += fmt::format("v{}", *v);
        else if (const auto* s = std::get_if<StrRef>(&f.value))
            text += str(*s);
        else
            text += "nil";
    }
    return "{" + text + "}";
}

std::string args(const Inst& inst) {
    std::string text;
    for (ValueId v : inst.args) text += fmt::format("{}v{}", text.empty() ? " " : ", ", v);
    return text;
}

bool yields(const Inst& inst) {
    switch (inst.op) {
        case Opcode::StoreData:
        case Opcode::StoreReg:
        case Opcode::StoreSlot:
        case Opcode::Emit:
        case Opcode::AggAdd:
        case Opcode::MapSet:
        case Opcode::MapDelete:
        case Opcode::MapAdd: return false;
        default: return true;
    }
}

std::string body(const Inst& inst) {
    std::string text = op_names[static_cast<size_t>(inst.op)];
    switch (inst.op) {
        case Opcode::Const: return text + fmt::format(" {}", inst.imm);
        case Opcode::HitField: return text + " " + hit_field(inst.imm).name;
        case Opcode::Reg: return text + fmt::format(" {}", inst.imm);
        case Opcode::SExt:
        case Opcode::ZExt:
        case Opcode::Read:
        case Opcode::SoftRead: return text + fmt::format("{}", inst.imm) + args(inst);
        case Opcode::Compare:
            return text +
                   fmt::format(" v{} {} v{}", inst.args[0], cmp_names[static_cast<size_t>(inst.cmp)], inst.args[1]);
        case Opcode::LoadData:
        case Opcode::LoadReg:
        case Opcode::StoreReg:
        case Opcode::StoreData: return text + fmt::format(" {}", inst.imm) + args(inst);
        case Opcode::LoadSlot:
        case Opcode::StoreSlot: return text + fmt::format(" s{}+{}", inst.slot, inst.imm) + args(inst);
        case Opcode::Call: {
            std::string list;
            for (const Operand& o : inst.operands) list += (list.empty() ? "" : ", ") + operand(o);
            return text +
                   fmt::format(" {}({}){}", kpl_helper_descs[inst.helper].name, list, inst.stops ? " stops" : "");
        }
        case Opcode::Emit:
        case Opcode::MapDelete: return text + fmt::format(" {} {}", inst.imm, fields(inst.fields));
        case Opcode::AggAdd:
        case Opcode::MapAdd: return text + fmt::format(" {} {}", inst.imm, fields(inst.fields)) + args(inst);
        case Opcode::MapGet: return text + fmt::format(" {} {} s{}", inst.imm, fields(inst.fields), inst.slot);
        case Opcode::MapSet:
            return text + fmt::format(" {} {} {}", inst.imm, fields(inst.fields), fields(inst.value_fields));
        default: return text + args(inst);
    }
}

std::string terminator(const Block& b) {
    struct Visitor {
        std::string operator()(const Jump& j) const { return fmt::format("jump b{}", j.to); }
        std::string operator()(const Branch& c) const {
            return fmt::format("if v{} {} v{} then b{} else b{}", c.a, cmp_names[static_cast<size_t>(c.cmp)], c.b,
                               c.yes, c.no);
        }
        std::string operator()(const Return& r) const { return r.skip ? "return skip" : "return"; }
        std::string operator()(const Stop& s) const { return fmt::format("stop {}", stop_name(s.reason)); }
    };
    return std::visit(Visitor{}, b.end);
}

}  // namespace

std::string print(const Function& f) {
    std::string text = fmt::format("{}\n", f.name);
    for (size_t i = 0; i < f.slots.size(); i++) {
        text += fmt::format("  s{}: {} bytes", i, f.slots[i].size);
        if (f.slots[i].is_literal) text += fmt::format(" {:?}", f.slots[i].literal);
        text += "\n";
    }
    int line = 0;
    for (size_t i = 0; i < f.blocks.size(); i++) {
        const Block& b = f.blocks[i];
        text += fmt::format("b{}:{}", i, b.loop_head ? " loop" : "");
        if (!b.preds.empty()) text += fmt::format("  from b{}", fmt::join(b.preds, ", b"));
        text += "\n";
        for (ValueId id : b.insts) {
            const Inst& inst = f.insts[id];
            std::string row = yields(inst) ? fmt::format("  v{} = {}", id, body(inst)) : "  " + body(inst);
            if (inst.at.line != line) row = fmt::format("{:<60} ; {}:{}", row, inst.at.file, inst.at.line);
            if (!inst.what.empty()) row += "  " + inst.what;
            line = inst.at.line;
            text += row + "\n";
        }
        text += "  " + terminator(b) + "\n";
    }
    return text;
}

}  // namespace kpl::ir
