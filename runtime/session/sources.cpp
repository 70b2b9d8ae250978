// SPDX-License-Identifier: MIT
#include "session/sources.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include "hints/other_tracers.hpp"
#include "inspect/debugfs.hpp"
#include "inspect/syscalls.hpp"
#include "session/mark_places.hpp"
#include "session/program_places.hpp"
#include "symbols/nearest.hpp"
#include "symbols/target_text.hpp"

namespace kpl {
namespace {

// ---- tracepoints

Error no_tracepoint(const std::string& text, KernelView& kernel) {
    if (const auto theirs = foreign_target(text))
        return {Errc::script, fmt::format("no tracepoint '{}': {}", text, *theirs)};
    if (const auto all = kernel.tracepoints.find("*", kernel.symbols); all && all->empty())
        return {Errc::script, fmt::format("no tracepoint '{}': the kernel shows none, without CONFIG_BPF_EVENTS "
                                          "and CONFIG_KALLSYMS_ALL",
                                          text)};
    std::string message = fmt::format("no tracepoint '{}' in this kernel", text);
    if (const auto near = kernel.tracepoints.near(text, kernel.symbols); near && !near->empty())
        message += fmt::format("; near to it: {}", fmt::join(*near, ", "));
    return {Errc::script, message};
}

Result<void> resolve_tracepoint(const std::string& text, KernelView& kernel, bool addresses, Resolved& resolved) {
    const auto found = kernel.tracepoints.find(text, kernel.symbols);
    if (!found) return Error{Errc::script, fmt::format("tracepoint '{}': {}", text, found.error().text)};
    if (found->empty()) return no_tracepoint(text, kernel);
    const bool by_glob = text.find_first_of("*?[") != text.npos;
    for (const Tracepoint& one : *found) {
        if (addresses && !one.entry) TRY(kernel.symbols.find(one.name));  // says that they are hidden, and by what
        KernelPlace place{one.name, one.module, one.entry, one.caller};
        place.special.edit().shown = one.text();
        place.by_glob = by_glob;
        resolved.places.push_back(std::move(place));
    }
    return {};
}

Result<Resolved> resolve_tracepoints(const ProbeDecl& probe, KernelView& kernel, const BlacklistOnDemand&,
                                     bool addresses) {
    return resolve_each(probe, [&](const Target& target, Resolved& resolved) -> Result<void> {
        const auto* text = std::get_if<std::string>(&target);
        if (!text)
            return Error{Errc::script, "a tracepoint has a name, such as \"sched:sched_switch\", and no address"};
        return resolve_tracepoint(*text, kernel, addresses, resolved);
    });
}

Result<std::optional<Signature>> tracepoint_signature(const KernelPlace& place, Types& types) {
    return types.tracepoint(place.function, *place.module);
}

// ---- system calls

Error no_syscall(const std::string& text, KernelView& kernel) {
    std::string message = fmt::format("no system call '{}' in this kernel", text);
    if (const auto near = near_syscalls(text, kernel.symbols); near && !near->empty())
        message += fmt::format("; near to it: {}", fmt::join(*near, ", "));
    return {Errc::script, message};
}

Result<Resolved> resolve_syscalls(const ProbeDecl& probe, KernelView& kernel, const BlacklistOnDemand&,
                                  bool addresses) {
    return resolve_each(probe, [&](const Target& target, Resolved& resolved) -> Result<void> {
        const auto* text = std::get_if<std::string>(&target);
        if (!text)
            return Error{Errc::script,
                         "a system call has a name, such as \"openat\": its number is another one on each machine"};
        const auto found = find_syscalls(*text, kernel.symbols);
        if (!found && addresses) return found.error();
        if (found && found->empty()) return no_syscall(*text, kernel);
        // Where symbols can't be read, nothing is attached: any name will do.
        for (const Syscall& one : found ? *found : std::vector{Syscall{*text, *text, {}, &host_arch().syscalls[0]}}) {
            KernelPlace place{one.name, {}, one.function.addr, one.function.addr};
            place.special.edit().shown = one.shown;
            // All ways into it are one p.func. Without parameters, they are one function.
            KernelPlace* before = resolved.places.empty() ? nullptr : &resolved.places.back();
            if (before && before->special->shown == one.shown) {
                before->special.edit().any_way |= one.function.addr && before->address == one.function.addr;
                if (before->address == one.function.addr) continue;
                place.function_address = before->function_address;
            }
            place.special.edit().way = one.way;
            place.by_glob = text->find_first_of("*?[") != text->npos;
            resolved.places.push_back(std::move(place));
        }
        return {};
    });
}

// Where tracefs can't be read, parameters are numbers.
Result<std::optional<Signature>> syscall_signature(const KernelPlace& place, Types& types) {
    auto fields = read_event_fields("syscalls/sys_enter_" + place.function);
    if (!fields || fields->empty()) return std::optional<Signature>();
    fields->erase(fields->begin());  // the call's number
    Signature signature{place.name(), TRY(types.parse("long")), {}, false, place.name() + "("};
    for (const EventField& field : *fields) {
        const auto type = types.parse(field.type);
        signature.params.push_back({field.name, type ? *type : signature.result});
        signature.text += fmt::format("{}{}{}{}", signature.params.size() == 1 ? "" : ", ", field.type,
                                      field.type.ends_with('*') ? "" : " ", field.name);
    }
    signature.text += ")";
    return std::optional(std::move(signature));
}

// ---- clocks and counters

KernelPlace event_place(std::string name, kpl_event event, uint64_t period, uint64_t config = 0) {
    KernelPlace place{name, {}, config, 0};
    place.special.edit().shown = std::move(name);
    place.special.edit().event = event;
    place.special.edit().period = period;
    return place;
}

Result<Resolved> resolve_rate(const ProbeDecl& probe, KernelView&, const BlacklistOnDemand&, bool) {
    return resolve_each(probe, [](const Target& target, Resolved& resolved) -> Result<void> {
        const uint64_t hz = std::get<uint64_t>(target);
        resolved.places.push_back(event_place(fmt::format("{} Hz", hz), KPL_EVENT_PROFILE, hz));
        return {};
    });
}

Result<Resolved> resolve_period(const ProbeDecl& probe, KernelView&, const BlacklistOnDemand&, bool) {
    return resolve_each(probe, [](const Target& target, Resolved& resolved) -> Result<void> {
        const uint64_t ns = std::get<uint64_t>(target);
        resolved.places.push_back(
            event_place(fmt::format("{:g} s", static_cast<double>(ns) / 1e9), KPL_EVENT_INTERVAL, ns));
        return {};
    });
}

struct CounterRow {
    std::string_view name, other;  // as perf has them
    kpl_event event;
    uint32_t config;
};
constexpr CounterRow counters[] = {
    {"page-faults", "faults", KPL_EVENT_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", "", KPL_EVENT_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", "", KPL_EVENT_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", "cs", KPL_EVENT_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", "migrations", KPL_EVENT_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"alignment-faults", "", KPL_EVENT_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults", "", KPL_EVENT_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
    {"cgroup-switches", "", KPL_EVENT_SOFTWARE, PERF_COUNT_SW_CGROUP_SWITCHES},
    {"cycles", "cpu-cycles", KPL_EVENT_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", "", KPL_EVENT_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", "", KPL_EVENT_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", "", KPL_EVENT_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", "branch-instructions", KPL_EVENT_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", "", KPL_EVENT_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"bus-cycles", "", KPL_EVENT_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
    {"ref-cycles", "", KPL_EVENT_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
};
constexpr uint64_t usual_hardware = 1000000, least_hardware = 1000;

Result<KernelPlace> counter_place(const std::string& name, uint64_t every) {
    Nearest nearest(name);
    for (const CounterRow& row : counters) {
        nearest.offer(row.name);
        if (name != row.name && (row.other.empty() || name != row.other)) continue;
        const bool hardware = row.event == KPL_EVENT_HARDWARE;
        if (hardware && every && every < least_hardware)
            return Error{Errc::script, fmt::format("{}: every = {} would stop the machine: {} at least", name, every,
                                                   least_hardware)};
        return event_place(std::string(row.name), row.event, every ? every : hardware ? usual_hardware : 1, row.config);
    }
    return Error{Errc::script, fmt::format("no counter '{}'{}", name, did_you_mean(nearest.names()))};
}

Result<Resolved> resolve_counters(const ProbeDecl& probe, KernelView&, const BlacklistOnDemand&, bool) {
    return resolve_each(probe, [&](const Target& target, Resolved& resolved) -> Result<void> {
        const auto* name = std::get_if<std::string>(&target);
        if (!name) return Error{Errc::script, "perf: a counter has a name, such as \"page-faults\""};
        resolved.places.push_back(TRY(counter_place(*name, probe.every)));
        return {};
    });
}

Result<std::optional<Signature>> no_signature(const KernelPlace&, Types&) { return std::optional<Signature>(); }

// ---- data

Result<uint64_t> data_address(const TargetText& wanted, const std::string& text, Kallsyms& symbols) {
    uint64_t address = wanted.module.empty() || wanted.module == "vmlinux" ? TRY(symbols.address(wanted.symbol)) : 0;
    if (!address)
        for (const Symbol& symbol : TRY(symbols.beginning(wanted.symbol)))
            if (symbol.name == wanted.symbol && (wanted.module.empty() || symbol.module == wanted.module))
                address = symbol.addr;
    if (address >> 63) return address;
    if (address)
        return Error{Errc::script,
                     fmt::format("'{}' is a variable of each CPU: watch one copy, by its address", wanted.symbol)};
    Nearest nearest(wanted.symbol);
    for (const Symbol& symbol : TRY(symbols.beginning(""))) nearest.offer(symbol.name);
    const std::vector<std::string> near = nearest.names();
    return Error{Errc::script, fmt::format("no symbol '{}' in this kernel{}{}", text,
                                           near.empty() ? "" : "; near to it: ", fmt::join(near, ", "))};
}

Result<KernelPlace> data_place(const Target& target, const ProbeDecl& probe, KernelView& kernel, bool addresses) {
    const auto* text = std::get_if<std::string>(&target);
    const auto given = text ? parse_address(*text) : std::optional(std::get<uint64_t>(target));
    KernelPlace place;
    if (given) {
        place.address = place.function_address = *given;
        place.function = fmt::format("{:#x}", *given);
    } else {
        const TargetText wanted = TRY(parse_target(*text));
        if (addresses) place.function_address = TRY(data_address(wanted, *text, kernel.symbols));
        place.address = place.function_address + wanted.offset;
        place.function = wanted.symbol;
        place.module = wanted.module;
        place.offset = wanted.offset;
    }
    place.special.edit().event = probe.reads ? KPL_EVENT_ACCESS : KPL_EVENT_WRITE;
    place.special.edit().len = probe.len                ? probe.len
                               : place.address % 8 == 0 ? 8
                               : place.address % 4 == 0 ? 4
                               : place.address % 2 == 0 ? 2
                                                        : 1;
    if (addresses && place.address >> 56 != 0xff)  // with five levels of page tables, 57 bits count
        return Error{Errc::script, fmt::format("watch: {:#x} is not an address of the kernel's data", place.address)};
    if (place.address % place.special->len)
        return Error{Errc::script, fmt::format("watch: {} bytes are watched at a multiple of {}, and {} lies at {:#x}",
                                               place.special->len, place.special->len, place.text(), place.address)};
    return place;
}

Result<Resolved> resolve_data(const ProbeDecl& probe, KernelView& kernel, const BlacklistOnDemand&, bool addresses) {
    return resolve_each(probe, [&](const Target& target, Resolved& resolved) -> Result<void> {
        resolved.places.push_back(TRY(data_place(target, probe, kernel, addresses)));
        return {};
    });
}

Result<std::optional<Signature>> data_signature(const KernelPlace& place, Types& types) {
    const char* type = place.special->len == 1   ? "unsigned char"
                       : place.special->len == 2 ? "unsigned short"
                       : place.special->len == 4 ? "unsigned int"
                                                 : "unsigned long";
    const TypeId id = TRY(types.parse(type));
    return std::optional(Signature{place.text(),
                                   0,
                                   {{"before", id}, {"after", id}},
                                   false,
                                   fmt::format("{}({} before, {} after)", place.text(), type, type)});
}

// ---- functions

Result<Resolved> resolve_functions(const ProbeDecl& probe, KernelView& kernel, const BlacklistOnDemand& blacklist,
                                   bool addresses) {
    return resolve_targets(probe, kernel.symbols, blacklist, addresses);
}

Result<std::optional<Signature>> function_signature(const KernelPlace& place, Types& types) {
    return types.function(place.function, *place.module);
}

struct SourceWays {
    SourceRow shown;
    Result<Resolved> (*resolve)(const ProbeDecl&, KernelView&, const BlacklistOnDemand&, bool addresses);
    Result<std::optional<Signature>> (*signature)(const KernelPlace&, Types&);
};

// In the order of Source.
constexpr SourceWays source_rows[] = {
    {{"function", Passed::Registers}, resolve_functions, function_signature},
    {{"tracepoint", Passed::Values}, resolve_tracepoints, tracepoint_signature},
    {{"system call", Passed::UserRegisters}, resolve_syscalls, syscall_signature},
    {{"clock", Passed::Nothing}, resolve_rate, no_signature},
    {{"clock", Passed::Nothing}, resolve_period, no_signature},
    {{"counter", Passed::Nothing}, resolve_counters, no_signature},
    {{"watchpoint", Passed::Values}, resolve_data, data_signature},
    {{"function", Passed::Registers, true}, resolve_programs, no_signature},
    {{"mark", Passed::Described, true}, resolve_marks, mark_signature},
};

const SourceWays& row_of(Source source) { return source_rows[static_cast<size_t>(source)]; }

}  // namespace

const SourceRow& source_row(Source source) { return row_of(source).shown; }

Result<Resolved> resolve(const ProbeDecl& probe, KernelView& kernel, const BlacklistOnDemand& blacklist,
                         bool addresses) {
    return row_of(probe_kind(probe.kind).source).resolve(probe, kernel, blacklist, addresses);
}

Result<std::optional<Signature>> signature_at(Source source, const KernelPlace& place, Types& types) {
    return row_of(source).signature(place, types);
}

std::vector<std::string> target_names(Source source, KernelView& kernel, const std::string& word) {
    std::vector<std::string> names;
    if (source == Source::Program) return program_targets(word, kernel);
    if (source == Source::Mark) return mark_targets(word, kernel);
    if (source == Source::Counter)
        for (const CounterRow& row : counters) names.emplace_back(row.name);
    if (source == Source::Tracepoint)
        if (const auto all = kernel.tracepoints.find("*", kernel.symbols))
            for (const Tracepoint& one : *all) names.push_back(one.text());
    if (source == Source::Syscall)
        if (const auto all = find_syscalls("*", kernel.symbols))
            for (const Syscall& one : *all) names.push_back(one.shown);
    return names;
}

}  // namespace kpl
