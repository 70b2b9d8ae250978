// SPDX-License-Identifier: MIT
#include "session/attach.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "inspect/functions.hpp"

namespace kpl {
namespace {

constexpr int ENOTSUPP = 524;        // the kernel's own, which no header of user space has
constexpr uint64_t landing_pad = 4;  // bytes that may stand before ftrace's site at a function's entry

bool blacklisted(const Paths& paths, uint64_t address) {
    const Blacklist* list = paths.blacklist.get();
    return list && list->covers(address);
}

// ftrace serves a function's entry. The module itself finds out whether there is a site.
// It does not know the blacklist: without it, nothing is left to ftrace.
bool may_take_ftrace(const ProbeDecl& probe, const PlannedProbe& plan, const Paths& paths) {
    if (!(probe_kind(probe.kind).by_ftrace || probe.entry_alone()) || probe.via == "kprobe" || !paths.ftrace)
        return false;
    // A trace of one function is the cheapest: calls of 32 bits, which are rare, don't share that of the others.
    if (plan.place.special->way && plan.place.special->way->compat && !plan.place.by_glob) return false;
    return plan.place.offset <= landing_pad && paths.blacklist.get() && !blacklisted(paths, plan.place.address);
}

// Where ftrace must do, what stands against it.
Result<void> check_ftrace(const ProbeDecl& probe, const std::vector<KernelPlace>& places, const Paths& paths) {
    if (!paths.ftrace)
        return Error{Errc::script, "via = \"ftrace\": this kernel has no ftrace that the module can use; leave via out",
                     probe.at};
    if (!paths.blacklist.get())
        return Error{
            Errc::script,
            fmt::format("via = \"ftrace\": ftrace does not know which code no probe may stand in, and {} can't be "
                        "read: mount -t debugfs debugfs /sys/kernel/debug",
                        Blacklist::usual_path),
            probe.at};
    for (const KernelPlace& place : places)
        if (place.offset > landing_pad)
            return Error{
                Errc::script,
                fmt::format("via = \"ftrace\" stands at a function's entry, not at {}: leave via out", place.text()),
                probe.at};
    return {};
}

// As far as it is known before the module is asked.
kpl_why why_not_direct(const PlannedProbe& plan, const Paths& paths) {
    if (!paths.blacklist.get() || blacklisted(paths, plan.place.address)) return KPL_WHY_BLACKLIST;
    return plan.direct.why;
}

}  // namespace

bool wants_direct(const ProbeDecl& probe, const Paths& paths) {
    return probe_kind(probe.kind).by_direct && probe.follows_calls() &&
           (probe.via == "direct" || (probe.via == "auto" && paths.direct));
}

Result<void> check_attachable(const ProbeDecl& probe, const std::vector<KernelPlace>& places, const Paths& paths,
                              std::optional<uint32_t> pid) {
    if (pid && (probe.when.mask & KPL_WHEN_PID) && probe.when.pid != *pid)
        return Error{
            Errc::script,
            fmt::format("when.pid is {}, but -p asks for {}: no hit matches both; leave one out", probe.when.pid, *pid),
            probe.at};
    if (probe.via == "ftrace") return check_ftrace(probe, places, paths);
    return {};
}

Error too_many_error(const ProbeDecl& probe, size_t places, size_t others, uint32_t limit) {
    const auto* name = probe.targets.size() == 1 ? std::get_if<std::string>(&probe.targets[0]) : nullptr;
    std::string text = name ? "'" + *name + "'" : "this declaration";
    text += fmt::format(" stands for {} place{}", places, places == 1 ? "" : "s");
    if (others) text += fmt::format(", beside {} other probes", others);
    return {Errc::script,
            fmt::format("{}: more than {} probes: narrow it, or allow them with --max-probes={}", text, limit,
                        places + others),
            probe.at};
}

kpl_attach attach_request(const ProbeDecl& probe, const PlannedProbe& plan, const std::vector<ArmedProgram>& programs,
                          const Paths& paths, std::optional<uint32_t> pid) {
    kpl_attach request{};
    request.addr = plan.place.address;
    request.func = plan.place.function_address;
    request.kind = probe.entry_alone() ? KPL_PROBE_KPROBE : probe_kind(probe.kind).placed;
    if (!probe.enabled) request.flags |= KPL_ATTACH_F_DISABLED;
    if (probe.optional || plan.place.by_glob) request.flags |= KPL_ATTACH_F_OPTIONAL;
    if (may_take_ftrace(probe, plan, paths)) {
        request.kind = KPL_PROBE_FTRACE;
        if (probe.via == "auto") request.flags |= KPL_ATTACH_F_ELSE_KPROBE;
    }
    if (wants_direct(probe, paths)) {
        request.why = why_not_direct(plan, paths);
        if (!request.why || probe.via == "direct") {
            request.kind = KPL_PROBE_DIRECT;
            request.stack_args = request.why ? UINT32_MAX : plan.direct.stack_args;
        }
        if (request.kind == KPL_PROBE_DIRECT && probe.via == "auto") request.flags |= KPL_ATTACH_F_ELSE_KPROBE;
    }
    for (int i = 0; i < 3; i++)
        request.prog[i] =
            plan.handlers[i] < 0 ? KPL_NO_PROG : programs[static_cast<size_t>(plan.handlers[i])].loaded.id;
    request.period = plan.place.special->period;
    request.event = plan.place.special->event;
    request.len = plan.place.special->len;
    request.line = static_cast<uint32_t>(std::max(probe.at.line, 0));
    if (plan.place.special->program) {
        request.fd = static_cast<uint32_t>(plan.place.special->program->fd());
        request.semaphore = plan.place.special->semaphore;
        if (!plan.place.offset && !plan.place.function.empty()) request.flags |= KPL_ATTACH_F_ENTRY;
    }
    request.maxactive = probe.follows_calls() ? probe.maxactive : 0;
    request.when = probe.when;
    if (pid) {
        request.when.mask |= KPL_WHEN_PID;
        request.when.pid = *pid;
    }
    return request;
}

bool is_about_place(const kpl_attach& request) {
    switch (-request.error) {
        case EINVAL:
        case EILSEQ:
        case ENOENT:
        case EOPNOTSUPP: return true;
        default: return false;
    }
}

std::string attach_reason(const kpl_attach& request, const Paths& paths) {
    if (blacklisted(paths, request.addr) && is_about_place(request))
        return "the kernel's blacklist forbids it: code that runs in probes, traps or the entry to the kernel itself";
    if (request.kind == KPL_PROBE_DIRECT && request.error == -EOPNOTSUPP)
        return fmt::format("via = \"direct\": {}; leave via out for a kretprobe", why_text(request.why));
    if (request.kind == KPL_PROBE_KPROBE && request.error == -EOPNOTSUPP)
        return "at a function's entry, ftrace has it go on elsewhere; leave via = \"kprobe\" out";
    if (request.kind == KPL_PROBE_EVENT && is_about_place(request))
        return "this machine has no such counter, or lends it to nobody";
    if (request.kind == KPL_PROBE_EVENT && request.error == -E2BIG)
        return fmt::format(
            "clocks of all sessions tick up to {} times a second on a CPU together, and what their handlers "
            "may take at one tick is bounded, too",
            KPL_MAX_TICKS);
    if (request.kind == KPL_PROBE_WATCH) switch (-request.error) {
            case EPERM: return "watching data takes CAP_SYS_ADMIN";
            case EFAULT: return "no memory of the kernel lies there";
            case EINVAL:
                return "the processor can't watch it: what is watched is data of the kernel, at a multiple of len, and "
                       "nothing that the trap itself goes over";
            case ENOSPC:
                return "no debug register is free on some CPU: of the 4 that each has, for all probes, debuggers and perf together";
            case EOPNOTSUPP: return "on this machine a module can't go on behind the access";
        }
    if (request.kind == KPL_PROBE_UPROBE || request.kind == KPL_PROBE_URETPROBE) switch (-request.error) {
            case EPERM: return "probing programs takes CAP_SYS_ADMIN";
            case EINVAL:
                return "no instruction can be probed there: not in the file, none that the kernel can run elsewhere, or "
                       "probed with another semaphore already";
            case EIO: return "the file is on a file system from which the kernel reads no code";
            case ENOTSUPP: return "the kernel can't run this instruction elsewhere, as a probe has it do";
            case EOPNOTSUPP: return "this kernel has no probes in programs that the module knows";
            case EUSERS:
                return "the sessions of kprobe-lua have as many return probes in programs as they may together";
        }
    switch (-request.error) {
        case EDEADLK: return "it takes or releases a lock: it can't be overridden";
        case EDOM:
            return "override leaves a whole function out: it works at the function's first instruction, in a module on "
                   "what ftrace knows";
        case EXDEV: return "p.ip: that address is in a module, which may go while this function stays";
        case EPERM:
        case EACCES: return "the session may not change what runs there";
        case EINVAL:
            if (request.kind == KPL_PROBE_TRACEPOINT) return "it passes fewer arguments than the handler reads";
            if (request.kind == KPL_PROBE_FTRACE && !(request.flags & KPL_ATTACH_F_ELSE_KPROBE))
                return "ftrace has no site there: the function is not in /sys/kernel/tracing/available_filter_functions; "
                       "leave via = \"ftrace\" out for a kprobe. Or it is code that no probe may stand in";
            if (request.kind == KPL_PROBE_KRETPROBE)
                return "no return can be caught there: code that no probe may stand in, or that must not become a jump (kprobe-lua "
                       "disasm says why), or a module's code that ftrace does not know, such as a label within a function in "
                       "assembler";
            return "the kernel allows no probe there: not the start of an instruction, one that the kernel itself rewrites "
                   "(jump labels, static calls), or code that no probe may stand in";
        case EILSEQ: return "the address is not the start of an instruction";
        case ENOENT:
            return request.kind == KPL_PROBE_TRACEPOINT ? "no such tracepoint any more" : "no such function any more";
        case EOPNOTSUPP:
            return request.kind == KPL_PROBE_TRACEPOINT
                       ? "it passes no value, or more than 12, or its module wants to be told when it is switched off, and may "
                         "be gone by then"
                       : "this kernel can't place this kind of probe";
        case E2BIG:
            return "more than the module allows (maxactive, data=, the number of probes, what all handlers there take together, "
                   "or functions that are overridden one by one: a list or a glob counts once)";
        case ENOMEM: return "not enough kernel memory (a smaller maxactive or data= helps)";
        case EDQUOT:
            return "all sessions of kprobe-lua together may hold no more memory: a smaller maxactive or data= helps, or allow "
                   "more (echo PERCENT > /sys/module/kprobe_lua/parameters/memory_percent)";
        case ENODEV: return "kprobes are switched off: kprobe-lua knobs kprobes 1";
        case EADDRINUSE:
            return "another probe was there first, without a post handler: this kernel calls none there now. Put pre and post into "
                   "one probe, or probe the next instruction";
        case EBUSY:
            return "ftrace is switched off or in another's hands: sysctl kernel.ftrace_enabled=1. One that overrides the function shares it with "
                   "no livepatch, no other override and no return probe via = \"direct\"";
        default: return std::strerror(-request.error);
    }
}

std::string attached_text(std::span<const kpl_attach> requests) {
    static constexpr struct {
        kpl_probe_kind kind;
        const char* name;
    } ways[] = {
        {KPL_PROBE_FTRACE, "ftrace"},       {KPL_PROBE_DIRECT, "direct calls"},   {KPL_PROBE_KPROBE, "kprobe"},
        {KPL_PROBE_KRETPROBE, "kretprobe"}, {KPL_PROBE_TRACEPOINT, "tracepoint"}, {KPL_PROBE_EVENT, "clock or counter"},
        {KPL_PROBE_WATCH, "watchpoint"},    {KPL_PROBE_UPROBE, "uprobe"},         {KPL_PROBE_URETPROBE, "uretprobe"},
#ifdef KPL_TEST_ROWS
        {KPL_PROBE_TEST, "test"},
#endif
    };
    static_assert(std::size(ways) == KPL_PROBE_KINDS);
    size_t counts[KPL_PROBE_KINDS] = {};
    for (const kpl_attach& request : requests)
        if (request.error == 0) counts[request.kind]++;
    std::string text;
    for (const auto& [kind, name] : ways)
        if (counts[kind]) text += fmt::format("{}{} by {}", text.empty() ? "" : ", ", counts[kind], name);
    return text;
}

std::vector<std::string> not_direct_text(std::span<const kpl_attach> requests, std::span<const PlannedProbe> planned) {
    struct Reason {
        std::string first;
        size_t others = 0;
    };
    std::map<uint32_t, Reason> reasons;
    for (size_t i = 0; i < requests.size(); i++) {
        if (requests[i].error || requests[i].kind != KPL_PROBE_KRETPROBE || !requests[i].why) continue;
        Reason& reason = reasons[requests[i].why];
        if (reason.first.empty())
            reason.first = planned[i].place.text();
        else
            reason.others++;
    }
    std::vector<std::string> lines;
    for (const auto& [why, reason] : reasons)
        lines.push_back(fmt::format("kretprobe, not direct: {}{}: {}", reason.first,
                                    reason.others ? fmt::format(" and {} more", reason.others) : "", why_text(why)));
    return lines;
}

}  // namespace kpl
