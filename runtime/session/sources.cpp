// SPDX-License-Identifier: MIT
#include "session/sources.hpp"

#include <fmt/format.h>

#include "hints/other_tracers.hpp"
#include "inspect/debugfs.hpp"
#include "inspect/syscalls.hpp"

namespace kpl {
namespace {

// ---- tracepoints

Error no_tracepoint(const std::string& text, KernelView& kernel) {
    if (const auto theirs = foreign_target(text))
        return {Errc::script, fmt::format("no tracepoint '{}': {}", text, *theirs)};
    std::string message = fmt::format("no tracepoint '{}' in this kernel", text);
    if (const auto near = kernel.tracepoints.near(text, kernel.symbols); near && !near->empty())
        message += fmt::format("; near to it: {}", fmt::join(*near, ", "));
    return {Errc::script, message};
}

Result<void> resolve_tracepoint(const std::string& text, KernelView& kernel, bool addresses,
                                Resolved& resolved) {
    const auto found = kernel.tracepoints.find(text, kernel.symbols);
    if (!found) return Error{Errc::script, fmt::format("tracepoint '{}': {}", text, found.error().text)};
    if (found->empty()) return no_tracepoint(text, kernel);
    const bool by_glob = text.find_first_of("*?[") != text.npos;
    for (const Tracepoint& one : *found) {
        if (addresses && !one.entry)
            TRY(kernel.symbols.find(one.name));  // says that they are hidden, and by what
        KernelPlace place{one.name, one.module, one.entry, one.caller};
        place.shown = one.text();
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
            return Error{Errc::script,
                         "a tracepoint has a name, such as \"sched:sched_switch\", and no address"};
        return resolve_tracepoint(*text, kernel, addresses, resolved);
    });
}

Result<std::optional<Signature>> tracepoint_signature(const KernelPlace& place, Types& types) {
    return types.tracepoint(place.function, place.module);
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
            return Error{
                Errc::script,
                "a system call has a name, such as \"openat\": its number is another one on each machine"};
        const auto found = find_syscalls(*text, kernel.symbols);
        if (!found && addresses) return found.error();
        if (found && found->empty()) return no_syscall(*text, kernel);
        // Where symbols can't be read, nothing is attached: any name will do.
        for (const Syscall& one :
             found ? *found : std::vector{Syscall{*text, *text, {}, &host_arch().syscalls[0]}}) {
            KernelPlace place{one.name, "", one.function.addr, one.function.addr};
            place.shown = one.shown;
            // All ways into it are one p.func.
            if (!resolved.places.empty() && resolved.places.back().shown == one.shown)
                place.function_address = resolved.places.back().function_address;
            place.way = one.way;
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

// ---- functions

Result<Resolved> resolve_functions(const ProbeDecl& probe, KernelView& kernel,
                                   const BlacklistOnDemand& blacklist, bool addresses) {
    return resolve_targets(probe, kernel.symbols, blacklist, addresses);
}

Result<std::optional<Signature>> function_signature(const KernelPlace& place, Types& types) {
    return types.function(place.function, place.module);
}

struct Row {
    SourceRow shown;
    Result<Resolved> (*resolve)(const ProbeDecl&, KernelView&, const BlacklistOnDemand&, bool addresses);
    Result<std::optional<Signature>> (*signature)(const KernelPlace&, Types&);
};

// In the order of Source.
constexpr Row rows[] = {
    {{"function", Passed::Registers}, resolve_functions, function_signature},
    {{"tracepoint", Passed::Values}, resolve_tracepoints, tracepoint_signature},
    {{"system call", Passed::UserRegisters}, resolve_syscalls, syscall_signature},
};

const Row& row_of(Source source) {
    return rows[static_cast<size_t>(source)];
}

}  // namespace

const SourceRow& source_row(Source source) {
    return row_of(source).shown;
}

Result<Resolved> resolve(const ProbeDecl& probe, KernelView& kernel, const BlacklistOnDemand& blacklist,
                         bool addresses) {
    return row_of(probe_kind(probe.kind).source).resolve(probe, kernel, blacklist, addresses);
}

Result<std::optional<Signature>> signature_at(Source source, const KernelPlace& place, Types& types) {
    return row_of(source).signature(place, types);
}

}  // namespace kpl
