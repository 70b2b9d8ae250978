// SPDX-License-Identifier: MIT
#include "session/compile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "codegen/codegen.hpp"
#include "core/core.h"
#include "inspect/functions.hpp"
#include "session/listing.hpp"
#include "session/sources.hpp"
#include "symbols/target_text.hpp"

namespace kpl {
namespace {

// The one variable at the beginning of each CPU's area.
constexpr std::string_view first_per_cpu = "fixed_percpu_data";

// Whether a handler may look at the probed function's signature: only then is BTF read, and are handlers compiled
// apart.
class SignatureUse {
  public:
    bool may(const FunctionRef& handler, bool mirrors) {
        const auto proto = handler.proto();
        return !proto || (*proto)->num_params > (mirrors ? 0 : 1) || may(handler);
    }

  private:
    // Constants of a function and of those inside of it: by them it takes values from tables.
    struct Keys {
        std::set<std::string> names;
        std::set<int64_t> numbers;
        bool others = false;  // a value that may be known only once it is compiled
        void add(double number) {
            if (std::abs(number) <= std::numeric_limits<int32_t>::max()) numbers.insert(static_cast<int64_t>(number));
        }
    };

    static void collect(const Proto& p, Keys& keys) {
        for (const GcConst& c : p.gc) {
            if (const auto* name = std::get_if<std::string>(&c)) keys.names.insert(*name);
            if (const auto* inner = std::get_if<std::shared_ptr<const Proto>>(&c)) collect(**inner, keys);
        }
        for (const Insn& insn : p.code) {
            if (insn.op == Op::TGETB) keys.numbers.insert(insn.c);
            if (insn.op == Op::KSHORT) keys.numbers.insert(insn.sd());
            keys.others |= insn.op == Op::TGETV;
        }
        for (const double number : p.num) keys.add(number);
    }

    // A function that it inlines may, too: it is an upvalue, a global, or in a table that is one.
    bool may(const FunctionRef& function) {
        const auto proto = function.proto();
        if (!proto) return true;
        if (!seen_.emplace(function.identity(), nullptr).second) return false;
        Keys keys;
        collect(**proto, keys);
        std::vector<Captured> upvalues;
        for (uint32_t i = 0; i < (*proto)->upvalues.size(); i++) {
            const Captured& value = upvalues.emplace_back(function.upvalue(i));
            if (const auto* name = std::get_if<std::string>(&value)) keys.names.insert(*name);
            if (const auto* number = std::get_if<double>(&value)) keys.add(*number);
        }
        for (const char* typed : {"args", "ret", "override"})
            if (keys.names.contains(typed)) return true;
        for (const std::string& name : keys.names)
            if (may(function.global(name), function, keys)) return true;
        return std::ranges::any_of(upvalues, [&](const Captured& value) {
            const bool table = std::holds_alternative<std::shared_ptr<const TableRef>>(value);
            return (table && keys.others) || may(value, function, keys);
        });
    }

    bool may(const Captured& value, const FunctionRef& user, const Keys& keys) {
        if (const auto* function = std::get_if<FunctionPtr>(&value)) return may(**function);
        const auto* table = std::get_if<std::shared_ptr<const TableRef>>(&value);
        if (!table || !seen_.emplace((*table)->identity(), user.identity()).second) return false;
        const auto may_have = [&](const auto& key) { return may((*table)->get(key), user, keys); };
        return std::ranges::any_of(keys.names, may_have) || std::ranges::any_of(keys.numbers, may_have);
    }

    std::set<std::pair<const void*, const void*>> seen_;  // functions; tables, and by which function
};

// What tells apart places whose handlers must be compiled apart.
std::string parameter_list(const std::optional<Signature>& signature, const KernelPlace& place) {
    std::string key =
        place.special->way ? std::string(place.special->way->prefix) + (place.special->any_way ? "*" : "") : "";
    if (place.special->marked)
        for (const MarkArg& arg : *place.special->marked) key += fmt::format("{}{:+d} ", arg.text, arg.number);
    if (place.special->returns || !place.special->no_override.empty())
        key += fmt::format("!{}{} ", place.special->returns, place.special->no_override);
    if (!signature) return key + (is_variant(place.function) ? "v" : "") + (place.offset ? "+" : "");
    key += std::to_string(signature->result);
    for (const Param& param : signature->params) key += fmt::format(",{} {}", param.type, param.name);
    return key + (place.offset ? "+" : "");
}

// Under a glob, a handler that names parameters is meant for places that have them: all others in one error.
Result<void> check_parameters(const ProbeDecl& probe, const std::vector<KernelPlace>& places, Types& types) {
    const ProbeKindRow& kind = probe_kind(probe.kind);
    if (kind.source == Source::Function || !probe.handlers[0]) return {};
    const uint32_t params = (*probe.handlers[0]->proto())->num_params, named = params ? params - 1 : 0;
    std::string fewer;
    for (const KernelPlace& place : places) {
        const auto signature = place.by_glob && named ? TRY(signature_at(kind.source, place, types)) : std::nullopt;
        if (signature && signature->params.size() < named)
            fewer += fmt::format("{}{} ({})", fewer.empty() ? "" : ", ", place.text(), signature->params.size());
    }
    if (fewer.empty()) return {};
    return Error{
        Errc::script,
        fmt::format(
            "the handler names {} parameters; these have fewer: {}: narrow the glob, or name fewer and use p.args",
            named, fewer),
        probe.at};
}

struct Grouping {
    const ProbeDecl& probe;
    uint32_t number;
    Unit& unit;
    int next_data_group;
    std::map<std::string, std::array<int, most_handlers>> sets{};
};

std::array<int, most_handlers> add_handlers(Grouping& grouping, const KernelPlace& place,
                                            const std::optional<Signature>& signature) {
    const ProbeDecl& probe = grouping.probe;
    const ProbeKindRow& kind = probe_kind(probe.kind);
    std::array<int, most_handlers> set = {-1, -1, -1};
    for (size_t i = 0; i < most_handlers; i++) {
        if (!probe.handlers[i]) continue;
        HandlerDecl handler;
        handler.function = probe.handlers[i];
        handler.kind = probe.entry_alone() ? KPL_PROG_PRE : kind.handlers[i].program;
        handler.name =
            fmt::format("{}:{} {} of {}", probe.at.file, probe.at.line, kind.handlers[i].option, place.text());
        handler.mirrors = kind.mirrors;
        handler.at_function_entry = place.offset == 0 || handler.kind == KPL_PROG_WATCH;
        if (is_variant(place.function)) handler.variant = place.function;
        handler.probed = source_row(kind.source).name;
        handler.passed = source_row(kind.source).passed;
        handler.way = place.special->way;
        handler.marked = place.special->marked;
        handler.any_way = place.special->any_way;
        handler.user_pointers = place.special->way != nullptr || source_row(kind.source).of_process;
        handler.signature = signature;
        handler.function_name = place.text();
        handler.returns = place.special->returns;
        handler.no_override = place.special->no_override;
        handler.data_group = probe.follows_calls() ? grouping.next_data_group : -1;
        handler.budget = probe.budget;
        handler.declared_data = probe.data;
        set[i] = static_cast<int>(grouping.unit.handlers.size());
        grouping.unit.handlers.push_back(std::move(handler));
    }
    if (probe.follows_calls()) grouping.next_data_group++;
    return set;
}

// The constant that a register has at an instruction.
uint32_t constant_at(const HandlerProgram& program, uint32_t pc, int reg) {
    while (pc-- > 0) {
        const bpf_insn& insn = program.insns[pc];
        if (insn.dst_reg == reg && insn.code == (BPF_ALU64 | BPF_MOV | BPF_K)) return static_cast<uint32_t>(insn.imm);
    }
    return 0;
}

// The call at `pc` asks for a record that is larger than the ring, or anything, allows; else nothing.
std::optional<std::string> record_error(const HandlerProgram& program, uint32_t pc, uint32_t max_record) {
    const bpf_insn& call = program.insns[pc];
    if (call.code != (BPF_JMP | BPF_CALL) || call.imm != KPL_H_rec_begin) return std::nullopt;
    const uint32_t size = constant_at(program, pc, BPF_REG_3) + constant_at(program, pc, BPF_REG_4);
    if (size <= max_record) return std::nullopt;
    if (max_record == KPL_MAX_RECORD)
        return fmt::format(
            "this record can take {} bytes; {} is the most: shorter strings, as in str(p, 64), take less", size,
            max_record);
    return fmt::format("this record can take {} bytes, more than half of a ring: --buffer {}K, or shorter strings",
                       size, std::bit_ceil(2 * size) >> 10);
}

// What it may change is noted in it.
Result<uint32_t> verify(HandlerProgram& program, const std::vector<kpl_map_desc>& maps, const Arch& arch,
                        const Options& options) {
    std::vector<uint64_t> workspace(kpl_verify_ws_size(static_cast<uint32_t>(program.insns.size())) / 8 + 1);
    struct kpl_verify v {};
    v.insns = program.insns.data();
    v.labels = program.labels.data();
    v.maps = maps.data();
    v.nr_insns = static_cast<uint32_t>(program.insns.size());
    v.nr_labels = static_cast<uint32_t>(program.labels.size());
    v.nr_maps = static_cast<uint32_t>(maps.size());
    v.kind = program.kind;
    v.data_size = program.data_size;
    v.scratch_size = program.scratch_size;
    v.budget = program.budget;
    v.regs_size = arch.regs_size;
    v.max_record = std::min<uint32_t>(options.ring() / 2, KPL_MAX_RECORD);
    v.ws = reinterpret_cast<kpl_verify_ws*>(workspace.data());
    kpl_verify_rights(&v, static_cast<u32>(options.unsafe), arch.writable, u64{1} << (arch.ret / 8));
    if (kpl_verify(&v) == 0) {
        program.changes_regs = v.regs_written != 0;
        program.moves = v.moved != 0;
        return v.cost;
    }
    SourceLoc at;
    if (const PcNote* note = program.note_at(v.reject_pc)) at = note->at;
    if (auto text = record_error(program, v.reject_pc, v.max_record)) return Error{Errc::script, *text, at};
    if (v.reject == KPL_REJECT_BUDGET) {
        v.budget = KPL_MAX_BUDGET;  // the verifier stops at the budget: once more, for the whole cost
        const std::string cost = kpl_verify(&v) == 0 ? std::to_string(v.cost) : fmt::format("over {}", KPL_MAX_BUDGET);
        return Error{
            Errc::script,
            fmt::format("handler costs {}, over its budget of {}: make it shorter, or give the probe a larger budget=",
                        cost, program.budget ? program.budget : KPL_DEFAULT_BUDGET),
            at};
    }
    return Error{Errc::script,
                 fmt::format("{}: refused at instruction {}: {}", program.name, v.reject_pc, kpl_reject_text(v.reject)),
                 at};
}

std::vector<kpl_map_desc> describe_maps(const Unit& unit) {
    std::vector<kpl_map_desc> maps;
    for (const MapDecl& map : unit.maps) maps.push_back({static_cast<u32>(map.kind), map.key.size, map.value.size});
    return maps;
}

std::string cost_text(const HandlerProgram& program, uint32_t cost) {
    return fmt::format("-- {}: {} instructions, cost {} of {}\n", program.name, program.insns.size(), cost,
                       program.budget ? program.budget : KPL_DEFAULT_BUDGET);
}

}  // namespace

Result<std::vector<PlannedProbe>> plan_probe(const ProbeDecl& probe, uint32_t number, std::vector<KernelPlace> places,
                                             Unit& unit, Types& types) {
    int groups = 0;
    for (const HandlerDecl& handler : unit.handlers) groups = std::max(groups, handler.data_group + 1);
    Grouping grouping{probe, number, unit, groups};
    bool typed = false;
    for (const FunctionPtr& f : probe.handlers) {
        if (!f) continue;
        if (const auto proto = f->proto(); !proto) {
            Error error = proto.error();
            error.at = probe.at;  // it has no line of its own: a function of C
            return error;
        }
        typed |= SignatureUse{}.may(*f, probe_kind(probe.kind).mirrors);
    }
    TRY(check_parameters(probe, places, types));
    std::vector<PlannedProbe> planned;
    planned.reserve(places.size());
    for (KernelPlace& place : places) {
        if (!probe_kind(probe.kind).inside && place.offset != 0)
            return Error{Errc::script,
                         fmt::format("{} stands at a function's first instruction, not at {}+{:#x}: use {} there",
                                     probe_kind(probe.kind).name, place.function, place.offset,
                                     place.special->program ? "uprobe" : "kprobe"),
                         probe.at};
        std::optional<Signature> signature;
        if (typed || place.special->marked) signature = TRY(signature_at(probe_kind(probe.kind).source, place, types));
        const std::string key = typed ? parameter_list(signature, place) : parameter_list({}, place);
        auto [at, fresh] = grouping.sets.try_emplace(key);
        if (fresh) at->second = add_handlers(grouping, place, signature);
        PlannedProbe one{number, std::move(place), {}, {}, 0};
        std::copy(at->second.begin(), at->second.end(), one.handlers);
        planned.push_back(std::move(one));
    }
    return planned;
}

Result<std::vector<CompiledHandler>> compile_unit(Unit& unit, Types& types, const Options& options,
                                                  const std::function<void(const std::string&)>& dump,
                                                  const std::function<void(const Warning&)>& warn, Kallsyms* symbols) {
    const size_t first = unit.built;
    if (options.dump.contains("bc"))
        for (size_t i = first; i < unit.handlers.size(); i++)
            dump(fmt::format("-- {}: LuaJIT bytecode\n{}\n", unit.handlers[i].name,
                             with_script_lines(print(*TRY(unit.handlers[i].function->proto())))));

    BuildOptions build_options;
    build_options.arch = &host_arch();
    build_options.rights = static_cast<uint32_t>(options.unsafe);
    if (symbols)
        build_options.symbol_address = [symbols](const std::string& name) -> Result<uint64_t> {
            uint64_t address = TRY(symbols->address(name));
            if (!address)  // of a module's function, if there is one alone
                if (const auto spec = parse_target(name); spec && !spec->offset)
                    if (const auto found = TRY(symbols->find(spec->symbol, spec->module)); found.size() == 1)
                        address = found[0].addr;
            if (!address && name != first_per_cpu)
                return Error{Errc::script, fmt::format("the kernel has no symbol '{}'", name)};
            return address;
        };
    const BuildResult built = TRY(build(unit, types, build_options));
    for (const Warning& warning : built.warnings) warn(warning);

    const auto maps = describe_maps(unit);
    std::vector<CompiledHandler> handlers;
    for (size_t i = 0; i < built.functions.size(); i++) {
        const ir::Function& function = built.functions[i];
        const std::string& name = unit.handlers[first + i].name;
        if (options.dump.contains("ir"))
            dump(fmt::format("-- {}: intermediate form\n{}\n", name, with_script_lines(ir::print(function))));
        HandlerProgram program = TRY(generate(function));
        program.name = name;
        if (options.dump.contains("asm"))
            dump(fmt::format("-- {}: handler bytecode\n{}\n", program.name, with_script_lines(print(program))));
        const uint32_t cost = TRY(verify(program, maps, host_arch(), options));
        if (options.check && !options.cost) dump(cost_text(program, cost));
        handlers.push_back({std::move(program), cost});
    }
    return handlers;
}

}  // namespace kpl
