// SPDX-License-Identifier: MIT
#include "session/trace_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "codegen/mir.hpp"
#include "core/core.h"

namespace kpl {
namespace {

using namespace ir;

// A fetch argument: FETCHARG:TYPE.
struct Fetch {
    std::string text, type;
};

constexpr const char* compares[] = {"==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="};
constexpr Cmp as_cmp(mir::Test test) { return static_cast<Cmp>(test); }

// One handler as the arguments and the filter of an event, or the first part of it that can't be one.
class Translation {
  public:
    Translation(const Function& function, const Unit& unit, const Arch& arch)
        : f_(function), unit_(unit), arch_(arch) {}

    // False: `why` says what is in the way.
    bool run() {
        BlockId at = 0;
        const Block& first = f_.blocks[0];
        if (const auto* branch = std::get_if<Branch>(&first.end)) {
            const bool yes_acts = acts(branch->yes), no_acts = acts(branch->no);
            if (acts(0) || yes_acts == no_acts || f_.blocks.size() > 4)
                return no("more than one test, or work on several paths");
            at = yes_acts ? branch->yes : branch->no;
            if (!condition(*branch, yes_acts)) return false;
        }
        if (const auto* jump = std::get_if<Jump>(&f_.blocks[at].end))
            if (jump->to <= at || acts(jump->to)) return no("a loop, or work on several paths");
        if (std::holds_alternative<Branch>(f_.blocks[at].end)) return no("more than one test");
        for (const ValueId id : f_.blocks[at].insts)
            if (!action(f_.insts[id])) return false;
        return acted_ || no("nothing that an event could show");
    }

    std::string args() const {
        std::string text;
        for (const auto& [name, fetch] : args_)
            text += fmt::format(" {}={}{}{}", name, fetch.text, fetch.type.empty() ? "" : ":", fetch.type);
        return text;
    }
    std::string filter, why;

  private:
    bool no(const std::string& part) {
        if (why.empty()) why = part;
        return false;
    }

    bool acts(BlockId block) const {
        return std::any_of(f_.blocks[block].insts.begin(), f_.blocks[block].insts.end(), [&](ValueId id) {
            switch (f_.insts[id].op) {
                case Opcode::Emit:
                case Opcode::AggAdd:
                case Opcode::MapSet:
                case Opcode::MapAdd:
                case Opcode::MapGet:
                case Opcode::MapDelete:
                case Opcode::StoreData:
                case Opcode::StoreReg: return true;
                default: return false;
            }
        });
    }

    bool action(const Inst& inst) {
        switch (inst.op) {
            case Opcode::Emit: return !std::exchange(acted_, true) ? emit(inst) : no("two records in one hit");
            case Opcode::AggAdd: {
                const MapDecl& map = unit_.maps[static_cast<size_t>(inst.imm)];
                if (map.kind != KPL_MAP_COUNT || map.keyed)
                    return no("an aggregation (a trigger `hist:keys=…` of the event counts by key)");
                acted_ = true;  // kprobe_profile counts
                return true;
            }
            case Opcode::Call:
                if (inst.helper == KPL_H_comm || inst.helper == KPL_H_str || inst.helper == KPL_H_ustr ||
                    inst.helper == KPL_H_uread || kpl_helper_descs[inst.helper].effect != KPL_EFFECT_ACTS)
                    return true;
                return no(std::string(kpl_helper_descs[inst.helper].name) + "()");
            case Opcode::StoreReg: return no("changes of registers");
            case Opcode::StoreData: return no("p.data");
            case Opcode::MapSet:
            case Opcode::MapAdd:
            case Opcode::MapGet:
            case Opcode::MapDelete: return no("a map()");
            default: return true;
        }
    }

    bool emit(const Inst& inst) {
        const bool printed = inst.imm >= kpl_printf_event;
        const Layout& layout = printed ? unit_.printfs[static_cast<size_t>(inst.imm - kpl_printf_event)].record
                                       : unit_.events[static_cast<size_t>(inst.imm)].record;
        for (size_t i = 0; i < layout.fields.size(); i++) {
            const FieldLayout& field = layout.fields[i];
            const auto store = std::find_if(inst.fields.begin(), inst.fields.end(),
                                            [&](const FieldStore& one) { return one.offset == field.offset; });
            if (store == inst.fields.end() || std::holds_alternative<std::monostate>(store->value)) continue;
            const std::string name = printed ? fmt::format("a{}", i + 1) : field.name;
            std::optional<Fetch> fetch;
            if (const auto* value = std::get_if<ValueId>(&store->value)) fetch = number(*value, field.kind);
            if (const auto* str = std::get_if<StrRef>(&store->value)) fetch = string(*str);
            if (!fetch) return no(fmt::format("'{}'", printed ? fmt::format("value {} of the line", i + 1) : name));
            args_.push_back({name, *fetch});
        }
        return true;
    }

    std::optional<Fetch> number(ValueId id, FieldKind kind) const {
        auto fetch = value(id);
        if (!fetch) return fetch;
        if (kind == FieldKind::Symbol) fetch->type = "symbol";
        if (kind == FieldKind::Pointer && fetch->type == "u64") fetch->type = "x64";
        if (kind == FieldKind::I64 && fetch->type == "u64") fetch->type = "s64";
        return fetch;
    }

    std::optional<Fetch> value(ValueId id) const {
        const Inst& inst = f_.insts[id];
        switch (inst.op) {
            case Opcode::Const: return Fetch{fmt::format("\\{}", inst.imm), "s64"};
            case Opcode::Reg: {
                const auto row = std::find_if(arch_.regs.begin(), arch_.regs.end(),
                                              [&](const RegisterRow& reg) { return reg.offset == inst.imm; });
                return Fetch{"%" + std::string(row->name), "u64"};
            }
            case Opcode::HitField:
                if (inst.imm == offsetof(kpl_hit, ret)) return Fetch{"$retval", "u64"};
                return std::nullopt;
            case Opcode::SExt:
            case Opcode::ZExt: {
                auto of = value(inst.args[0]);
                if (!of || of->text[0] == '\\') return std::nullopt;
                of->type = fmt::format("{}{}", inst.op == Opcode::SExt ? 's' : 'u', inst.imm);
                return of;
            }
            case Opcode::Read:
            case Opcode::SoftRead: return memory(inst.args[0], "", fmt::format("u{}", 8 * inst.imm));
            case Opcode::Call: {
                if (inst.helper != KPL_H_uread) return std::nullopt;
                const auto* address = std::get_if<ValueId>(&inst.operands[1]);
                const auto* size = std::get_if<ConstOperand>(&inst.operands[2]);
                if (!address || !size) return std::nullopt;
                return memory(*address, "u", fmt::format("u{}", 8 * size->value));
            }
            default: return std::nullopt;
        }
    }

    // What lies at an address.
    std::optional<Fetch> memory(ValueId address, const char* user, const std::string& type) const {
        int64_t offset = 0;
        const Inst* inst = &f_.insts[address];
        while (inst->op == Opcode::Add && f_.insts[inst->args[1]].op == Opcode::Const) {
            offset += f_.insts[inst->args[1]].imm;
            address = inst->args[0];
            inst = &f_.insts[address];
        }
        const auto base = value(address);
        if (!base || base->text[0] == '\\') return std::nullopt;
        return Fetch{fmt::format("{}{}{}({})", offset < 0 ? '-' : '+', user, offset < 0 ? -offset : offset, base->text),
                     type};
    }

    // The call that wrote a string.
    std::optional<Fetch> string(const StrRef& str) const {
        if (str.where != StrRef::Where::Slot || str.offset) return std::nullopt;
        for (const Inst& inst : f_.insts) {
            if (inst.op != Opcode::Call) continue;
            const size_t to = inst.helper == KPL_H_comm ? 0 : 1;
            if (inst.helper != KPL_H_comm && inst.helper != KPL_H_str && inst.helper != KPL_H_ustr) continue;
            const auto* written = std::get_if<StrOperand>(&inst.operands[to]);
            if (!written || written->str.index != str.index) continue;
            if (inst.helper == KPL_H_comm) return Fetch{"$comm", ""};
            const auto* address = std::get_if<ValueId>(&inst.operands[3]);
            return address ? memory(*address, "", inst.helper == KPL_H_str ? "string" : "ustring") : std::nullopt;
        }
        return std::nullopt;
    }

    bool condition(const Branch& branch, bool acts_if_yes) {
        Cmp cmp = acts_if_yes ? branch.cmp : as_cmp(mir::inverse(mir::as_test(branch.cmp)));
        ValueId tested = branch.a, constant = branch.b;
        if (f_.insts[tested].op == Opcode::Const) {
            std::swap(tested, constant);
            cmp = as_cmp(mir::swapped(mir::as_test(cmp)));
        }
        const Inst& with = f_.insts[constant];
        auto fetch = value(tested);
        if (!fetch || with.op != Opcode::Const) return no("the handler's test");
        const bool is_unsigned = cmp >= Cmp::ULt;
        if (!is_unsigned && fetch->type == "u64") fetch->type = "s64";
        args_.push_back({"tested", *fetch});
        filter = fmt::format("tested {} {}", compares[static_cast<size_t>(cmp)], with.imm);
        return true;
    }

    const Function& f_;
    const Unit& unit_;
    const Arch& arch_;
    std::vector<std::pair<std::string, Fetch>> args_;
    bool acted_ = false;
};

// What of a declaration, beside its handler, no event has.
std::string in_the_way(const ProbeDecl& probe) {
    const ProbeKindRow& kind = probe_kind(probe.kind);
    if (kind.source != Source::Function)
        return fmt::format("a {}: kprobe_events has kprobes and return probes", kind.name);
    if (kind.follows_calls && probe.handlers[0]) return "entry, and what it keeps for ret";
    if (probe.handlers[2]) return "fault";
    if (!kind.follows_calls && probe.handlers[1]) return "post";
    if (probe.when.mask & KPL_WHEN_PID) return "when.pid: filters know threads alone (when.tid)";
    if (probe.when.mask & KPL_WHEN_OTHERS) return "when.self";
    if (probe.when.mask & KPL_WHEN_CGROUP) return "when.cgroup";
    return {};
}

// Not one of those that are taken, to which it is added.
std::string event_name(const ProbeDecl& probe, const KernelPlace& place, std::set<std::string>& taken) {
    std::string name = place.function + (place.offset ? fmt::format("_{:x}", place.offset) : "");
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    name += fmt::format("_{}", probe.at.line);
    std::string free = name;
    for (int n = 2; !taken.insert(free).second; n++) free = fmt::format("{}_{}", name, n);
    return free;
}

std::string when_filter(const kpl_when& when) {
    std::string text;
    const auto add = [&](const std::string& one) { text += (text.empty() ? "" : " && ") + one; };
    if (when.mask & KPL_WHEN_TID) add(fmt::format("common_pid == {}", when.tid));
    if (when.mask & KPL_WHEN_COMM)
        add(fmt::format("comm == \"{}\"", std::string_view(when.comm, ::strnlen(when.comm, sizeof when.comm))));
    if (when.mask & KPL_WHEN_CPU) add(fmt::format("cpu == {}", when.cpu));
    return text;
}

// In quotes, which it can't have within.
std::string shell_word(std::string_view text) {
    std::string word = "'";
    for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
    return word + "'";
}

}  // namespace

TraceEvent trace_event(const ProbeDecl& probe, const PlannedProbe& plan, const Unit& unit,
                       const std::vector<ir::Function>& functions, const Arch& arch, std::set<std::string>& names) {
    TraceEvent event;
    const ProbeKindRow& kind = probe_kind(probe.kind);
    event.probe = Error{Errc::script, fmt::format("{} {}", kind.name, plan.place.text()), probe.at}.message();
    event.name = event_name(probe, plan.place, names);
    event.enabled = probe.enabled;
    event.why = in_the_way(probe);
    if (!event.why.empty()) return event;
    const int handler = kind.follows_calls ? plan.handlers[1] : plan.handlers[0];
    if (handler < 0) {
        event.why = "it has no handler that an event could stand for";
        return event;
    }
    Translation translation(functions[static_cast<size_t>(handler)], unit, arch);
    if (!translation.run()) {
        event.why = translation.why;
        return event;
    }
    const std::string type = !kind.follows_calls ? "p"
                             : probe.maxactive   ? fmt::format("r{}", probe.maxactive)
                                                 : std::string("r");
    event.definition =
        fmt::format("{}:{}/{} {}{}", type, trace_group, event.name, plan.place.text(), translation.args());
    event.filter = when_filter(probe.when);
    if (!translation.filter.empty()) event.filter += (event.filter.empty() ? "" : " && ") + translation.filter;
    return event;
}

std::string print(const std::vector<TraceEvent>& events) {
    std::string text;
    for (const TraceEvent& event : events) {
        if (event.definition.empty()) {
            text += fmt::format("# {}: no event can have {}\n", event.probe, event.why);
            continue;
        }
        text += fmt::format("# {}\n{}\n", event.probe, event.definition);
        const std::string dir = fmt::format("events/{}/{}", trace_group, event.name);
        if (!event.filter.empty()) text += fmt::format("# echo {} > {}/filter\n", shell_word(event.filter), dir);
        if (event.enabled) text += fmt::format("# echo 1 > {}/enable\n", dir);
    }
    return text;
}

}  // namespace kpl
