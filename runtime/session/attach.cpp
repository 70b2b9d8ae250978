// SPDX-License-Identifier: MIT
#include "session/attach.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "inspect/functions.hpp"
#include "session/loop.hpp"
#include "session/progress.hpp"
#include "session/session.hpp"

namespace kpl {
namespace {

constexpr uint64_t landing_pad = 4;  // bytes that may stand before ftrace's site at a function's entry

bool blacklisted(const Paths& paths, uint64_t address) {
    const Blacklist* list = paths.blacklist.get();
    return list && list->covers(address);
}

// ftrace serves a function's entry. The module itself finds out whether there is a site.
// It does not know the blacklist: without it, nothing is left to ftrace.
bool may_take_ftrace(const ProbeDecl& probe, const PlannedProbe& plan, const Paths& paths) {
    if (probe.kind == ProbeKind::Kretprobe || probe.via == "kprobe" || !paths.ftrace) return false;
    return plan.place.offset <= landing_pad && paths.blacklist.get() && !blacklisted(paths, plan.place.address);
}

// Where ftrace must do, what stands against it.
Result<void> check_ftrace(const ProbeDecl& probe, const std::vector<KernelPlace>& places, const Paths& paths) {
    if (!paths.ftrace)
        return Error{Errc::script, "via = \"ftrace\": this kernel has no ftrace that the module can use; leave via out", probe.at};
    if (!paths.blacklist.get())
        return Error{Errc::script,
                     fmt::format("via = \"ftrace\": ftrace does not know which code no probe may stand in, and {} can't be "
                                 "read: mount -t debugfs debugfs /sys/kernel/debug", Blacklist::usual_path),
                     probe.at};
    for (const KernelPlace& place : places)
        if (place.offset > landing_pad)
            return Error{Errc::script,
                         fmt::format("via = \"ftrace\" stands at a function's entry, not at {}: leave via out", place.text()),
                         probe.at};
    return {};
}

}  // namespace

Result<void> check_attachable(const ProbeDecl& probe, const std::vector<KernelPlace>& places, const Paths& paths,
                              std::optional<uint32_t> pid) {
    if (pid && (probe.when.mask & KPL_WHEN_PID) && probe.when.pid != *pid)
        return Error{Errc::script,
                     fmt::format("when.pid is {}, but -p asks for {}: no hit is of both; leave one out", probe.when.pid, *pid),
                     probe.at};
    if (probe.via == "ftrace") return check_ftrace(probe, places, paths);
    return {};
}

Error too_many_error(const ProbeDecl& probe, size_t places, size_t others, uint32_t limit) {
    const auto* name = probe.targets.size() == 1 ? std::get_if<std::string>(&probe.targets[0]) : nullptr;
    std::string text = name ? "'" + *name + "'" : "this declaration";
    text += fmt::format(" stands for {} place{}", places, places == 1 ? "" : "s");
    if (others) text += fmt::format(", beside {} other probes", others);
    return {Errc::script, fmt::format("{}: more than {} probes must be asked for: narrow it, or run with --max-probes={}", text,
                                      limit, places + others), probe.at};
}

kpl_attach attach_request(const ProbeDecl& probe, const PlannedProbe& plan, const std::vector<ArmedProgram>& programs,
                          const Paths& paths, std::optional<uint32_t> pid) {
    kpl_attach request{};
    request.addr = plan.place.address;
    request.func = plan.place.function_address;
    request.kind = probe.kind == ProbeKind::Kretprobe ? KPL_PROBE_KRETPROBE : KPL_PROBE_KPROBE;
    if (!probe.enabled) request.flags |= KPL_ATTACH_F_DISABLED;
    if (probe.optional || plan.place.by_glob) request.flags |= KPL_ATTACH_F_OPTIONAL;
    if (may_take_ftrace(probe, plan, paths)) {
        request.kind = KPL_PROBE_FTRACE;
        if (probe.via == "auto") request.flags |= KPL_ATTACH_F_ELSE_KPROBE;
    }
    for (int i = 0; i < 3; i++)
        request.prog[i] = plan.handlers[i] < 0 ? KPL_NO_PROG : programs[static_cast<size_t>(plan.handlers[i])].loaded.id;
    request.maxactive = probe.maxactive;
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
    switch (-request.error) {
        case EINVAL:
            if (request.kind == KPL_PROBE_FTRACE)
                return "ftrace has no site there: the function is not in /sys/kernel/tracing/available_filter_functions; "
                       "leave via = \"ftrace\" out for a kprobe";
            return "the kernel allows no probe there: not the start of an instruction, one that the kernel itself rewrites "
                   "(jump labels, static calls), or code that no probe may stand in";
        case EILSEQ: return "the address is not the start of an instruction";
        case ENOENT: return "no such function any more";
        case EOPNOTSUPP: return "this kernel can't place this kind of probe";
        case E2BIG: return "more than the module allows (maxactive, data= or the number of probes)";
        case ENOMEM: return "not enough kernel memory (a smaller maxactive or data= helps)";
        case EBUSY: return "ftrace is switched off or in another's hands: sysctl kernel.ftrace_enabled=1";
        default: return std::strerror(-request.error);
    }
}

std::string attached_text(std::span<const kpl_attach> requests) {
    static constexpr const char* names[KPL_PROBE_KINDS] = {"kprobe", "kretprobe", "ftrace"};
    size_t counts[KPL_PROBE_KINDS] = {};
    for (const kpl_attach& request : requests)
        if (request.error == 0) counts[request.kind]++;
    std::string text;
    for (const int kind : {KPL_PROBE_FTRACE, KPL_PROBE_KPROBE, KPL_PROBE_KRETPROBE})
        if (counts[kind]) text += fmt::format("{}{} by {}", text.empty() ? "" : ", ", counts[kind], names[kind]);
    return text;
}

// ---- Session

std::span<const Session::ArmedProbe> Session::probes_of(uint32_t declaration) const {
    if (declaration >= ranges_.size()) return {};
    return std::span(probes_).subspan(ranges_[declaration].first, ranges_[declaration].count);
}

// What is only about places of globs is counted; the first of anything else, in words, or an empty error.
std::string Session::attach_errors(const std::vector<PlannedProbe>& planned, const std::vector<kpl_attach>& requests) {
    std::string text;
    const bool any = std::any_of(requests.begin(), requests.end(), is_about_place);
    const AddressRange start_up = any ? init_text(symbols_) : AddressRange{};
    for (size_t i = 0; i < requests.size(); i++) {
        if (requests[i].error == 0 || requests[i].error == -ECANCELED) continue;
        const PlannedProbe& plan = planned[i];
        const ProbeDecl& probe = declared_[plan.declaration];
        if (plan.place.by_glob && is_about_place(requests[i])) {
            LeftOut& left = ranges_[plan.declaration].left_out;
            (requests[i].kind == KPL_PROBE_FTRACE ? left.untraceable : left.refused)++;
            continue;
        }
        const bool freed = is_about_place(requests[i]) && start_up.has(requests[i].addr);
        const std::string why = fmt::format("can't probe {}: {}", plan.place.text(),
                                            freed ? "it is start-up code, which the kernel has freed"
                                                  : attach_reason(requests[i], paths_));
        if (probe.optional)
            say("warning: " + Error{Errc::script, why, probe.at}.message() + " (optional: skipped)");
        else
            text += (text.empty() ? "" : "\n") + Error{Errc::script, why, probe.at}.message();
    }
    return text;
}

// The probes are in the kernel: takes them over, each declaration's in a row.
void Session::take_attached(std::vector<PlannedProbe> planned, const std::vector<kpl_attach>& requests) {
    for (size_t i = 0; i < requests.size(); i++) {
        if (requests[i].error != 0) continue;
        ProbeRange& range = ranges_[planned[i].declaration];
        if (range.count++ == 0) range.first = probes_.size();
        if (!planned[i].place.module.empty()) in_modules_[planned[i].place.module].push_back(probes_.size());
        probes_.push_back({std::move(planned[i]), requests[i].id});
    }
}

// Of each glob: what it left out. An error when nothing of it is left.
Result<void> Session::report_left_out(size_t first) {
    std::string errors;
    for (size_t i = first; i < declared_.size(); i++) {
        const LeftOut& left = ranges_[i].left_out;
        const std::string text = left.text();
        if (text.empty()) continue;
        if (ranges_[i].count == 0 && !declared_[i].optional)
            errors += (errors.empty() ? "" : "\n") +
                      Error{Errc::script, "no function that matches can be probed: " + text, declared_[i].at}.message();
        else if (options_.verbose || (left.unwilling() && !options_.quiet))
            say(Error{Errc::script, fmt::format("{} probed; left out: {}", ranges_[i].count, text), declared_[i].at}.message());
    }
    if (!errors.empty()) return Error{Errc::script, errors};
    return {};
}

Result<void> Session::attach(std::vector<PlannedProbe> planned, size_t first) {
    if (planned.empty()) return {};
    std::vector<kpl_attach> requests;
    requests.reserve(planned.size());
    for (const PlannedProbe& plan : planned)
        requests.push_back(attach_request(declared_[plan.declaration], plan, programs_, paths_, pid_));
    const uint64_t began = monotonic_ns();
    auto attached = Attached::Interrupted;
    if (!Loop::end_asked()) {
        const Progress progress(*device_, options_.verbose);
        attached = TRY(device_->attach(requests));
    }
    if (attached == Attached::Interrupted) {
        say("interrupted: none of these probes is armed");
        ended_ = true;
        return {};
    }
    const double seconds = static_cast<double>(monotonic_ns() - began) / 1e9;
    const std::string errors = attach_errors(planned, requests);
    if (attached == Attached::Refused) return Error{Errc::script, errors.empty() ? "the kernel refused the probes" : errors};
    const size_t before = probes_.size();
    take_attached(std::move(planned), requests);
    Result<void> done = errors.empty() ? report_left_out(first) : Result<void>(Error{Errc::script, errors});
    if (!done) {  // what could not be excused after all: none
        TRY(detach_from(before));
        return done;
    }
    if (options_.verbose) say(fmt::format("armed in {:.3f} s: {}", seconds, attached_text(requests)));
    return {};
}

// Those armed since there were `before`.
Result<void> Session::detach_from(size_t before) {
    std::vector<uint32_t> ids;
    for (size_t i = before; i < probes_.size(); i++) ids.push_back(probes_[i].id);
    if (ids.empty()) return {};
    const uint64_t began = monotonic_ns();
    TRY(device_->control(KPL_CTL_DETACH, ids));
    if (options_.verbose)
        say(fmt::format("{} probe{} gone in {:.3f} s", ids.size(), ids.size() == 1 ? "" : "s",
                        static_cast<double>(monotonic_ns() - began) / 1e9));
    return {};
}

// Says once of each declaration that its probes in a module went with it, or with its start-up code.
Result<void> Session::tell_gone() {
    for (auto& [module, probes] : in_modules_) {
        std::vector<kpl_probe_stats> stats(probes.size());
        for (size_t i = 0; i < probes.size(); i++) stats[i].id = probes_[probes[i]].id;
        TRY(device_->stats(stats));
        std::vector<size_t> left;
        for (size_t i = 0; i < probes.size(); i++) {
            if (stats[i].state == KPL_STATE_GONE)
                tell_gone(probes_[probes[i]].plan);
            else if (stats[i].state != KPL_STATE_DETACHED)
                left.push_back(probes[i]);
        }
        probes = std::move(left);
    }
    std::erase_if(in_modules_, [](const auto& entry) { return entry.second.empty(); });
    return {};
}

void Session::tell_gone(const PlannedProbe& plan) {
    if (declared_[plan.declaration].detached || std::exchange(ranges_[plan.declaration].told_gone, true)) return;
    say(Error{Errc::script,
              fmt::format("{}: the module was unloaded, or has freed its start-up code: the probe is gone; "
                          "declare it again when the module is back",
                          plan.place.text()),
              declared_[plan.declaration].at}.message());
}

Result<void> Session::control(std::span<const uint32_t> declarations, kpl_control_op op) {
    if (probes_over_) return {};  // callbacks still get what was sent before
    std::vector<uint32_t> ids;
    for (const uint32_t declaration : declarations) {
        ProbeDecl& probe = declared_[declaration];
        if (op == KPL_CTL_DETACH)
            probe.detached = true;
        else if (probe.detached)
            return Error{Errc::script, "the probe was detached: declare it again"};
        if (declaration >= planned_) probe.enabled = op == KPL_CTL_ENABLE;  // not armed yet: only remembered
        for (const ArmedProbe& armed : probes_of(declaration)) ids.push_back(armed.id);
    }
    if (ids.empty()) return {};
    auto done = device_->control(op, ids);
    if (done) return done;
    for (const uint32_t declaration : declarations)
        if (auto status = this->status(declaration); status && status->state == "gone")
            return Error{Errc::script, "the probe's module was unloaded, or has freed its start-up code: declare the probe again when it is back"};
    return done;
}

}  // namespace kpl
