// SPDX-License-Identifier: MIT
// What is armed: attached, switched, looked at, detached.
#include "session/armed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <utility>

#include "inspect/functions.hpp"
#include "session/program_places.hpp"
#include "session/timers.hpp"

namespace kpl {
namespace {

constexpr int most_tries = 10;  // of an attach that is interrupted

const char* state_name(uint32_t state) {
    static constexpr const char* names[] = {"int3",     "optimized", "ftrace", "disabled", "gone",
                                            "detached", "overload",  "direct", "armed"};
    return state < std::size(names) ? names[state] : "unknown";
}

void add(kpl_counts& into, const kpl_counts& from) {
    into.hits += from.hits;
    into.handled += from.handled;
    into.skipped += from.skipped;
    into.missed += from.missed;
    into.faults += from.faults;
    into.errors += from.errors;
    into.overruns += from.overruns;
}

const char* plural(size_t n) { return n == 1 ? "" : "s"; }

double seconds_since(uint64_t began) { return static_cast<double>(monotonic_ns() - began) / 1e9; }

}  // namespace

std::span<const PlannedProbe> Armed::probes_of(uint32_t declaration) const {
    if (declaration >= ranges_.size()) return {};
    return std::span(probes_).subspan(ranges_[declaration].first, ranges_[declaration].count);
}

std::string Armed::name_of(uint32_t declaration) const {
    const auto probes = probes_of(declaration);
    if (probes.empty()) return {};
    const std::string& one = probes[0].place.name();
    return probes.size() == 1 ? one : fmt::format("{} and {} more", one, probes.size() - 1);
}

size_t Armed::attached() const {
    size_t count = 0;
    for (size_t i = 0; i < ranges_.size(); i++)
        if (!parts_.declared.probes()[i].detached) count += ranges_[i].count;
    return count;
}

std::vector<const ArmedProgram*> Armed::programs_of(uint32_t declaration) const {
    std::set<int> handlers;
    for (const PlannedProbe& probe : probes_of(declaration))
        handlers.insert(std::begin(probe.handlers), std::end(probe.handlers));
    std::vector<const ArmedProgram*> programs;
    for (const int handler : handlers)
        if (handler >= 0) programs.push_back(&programs_[static_cast<size_t>(handler)]);
    return programs;
}

// ---- attaching
// Of the registers that each CPU has, the kernel names no owner but ours.
std::string Armed::watched_text(std::span<const kpl_attach> before) const {
    auto ours =
        std::count_if(before.begin(), before.end(), [](const kpl_attach& one) { return one.kind == KPL_PROBE_WATCH; });
    for (size_t i = 0; i < ranges_.size(); i++)
        if (probe_kind(parts_.declared.probes()[i].kind).placed == KPL_PROBE_WATCH &&
            !parts_.declared.probes()[i].detached)
            ours += static_cast<std::ptrdiff_t>(ranges_[i].count);
    return fmt::format("; {} {} this script's", ours, ours == 1 ? "is" : "are");
}

// What is only about places of globs is counted; the first of anything else, in words, or an empty error.
std::string Armed::attach_errors(const std::vector<PlannedProbe>& planned, const std::vector<kpl_attach>& requests) {
    std::string text;
    const bool any = std::any_of(requests.begin(), requests.end(), is_about_place);
    const AddressRange start_up = any ? init_text(parts_.kernel.symbols) : AddressRange{};
    for (size_t i = 0; i < requests.size(); i++) {
        if (requests[i].error == 0 || requests[i].error == -ECANCELED) continue;
        const PlannedProbe& plan = planned[i];
        const ProbeDecl& probe = parts_.declared.probes()[plan.declaration];
        if (plan.place.by_glob && is_about_place(requests[i])) {
            LeftOut& left = ranges_[plan.declaration].left_out;
            (requests[i].kind == KPL_PROBE_FTRACE || requests[i].kind == KPL_PROBE_DIRECT ? left.untraceable
                                                                                          : left.refused)++;
            continue;
        }
        const bool freed = is_about_place(requests[i]) && start_up.has(requests[i].addr);
        const std::string why =
            fmt::format("can't probe {}: {}", plan.place.text(),
                        freed ? "it is start-up code, which the kernel has freed"
                              : attach_reason(requests[i], parts_.paths) +
                                    (requests[i].error == -ENOSPC ? watched_text(std::span(requests).first(i)) : ""));
        const std::string line = Error{Errc::script, why, probe.at}.message();
        if (probe.optional)
            parts_.client.note(Note::Warning, "warning: " + line + " (optional: skipped)");
        else
            text += (text.empty() ? "" : "\n") + line;
    }
    return text;
}

// The probes are in the kernel: takes them over, each declaration's in a row.
void Armed::take_attached(std::vector<PlannedProbe> planned, const std::vector<kpl_attach>& requests) {
    const size_t before = probes_.size();
    size_t taken = 0;
    for (size_t i = 0; i < requests.size(); i++) {
        if (requests[i].error != 0) continue;
        PlannedProbe& plan = planned[i];
        const size_t number = before + taken;
        plan.id = requests[i].id;
        ProbeRange& range = ranges_[plan.declaration];
        if (range.count++ == 0) range.first = number;
        if (const auto& program = plan.place.special->program) in_programs_.try_emplace(program, number);
        if (!plan.place.module->empty()) in_modules_[*plan.place.module].push_back(number);
        if (taken != i) planned[taken] = std::move(plan);
        taken++;
    }
    planned.erase(planned.begin() + static_cast<std::ptrdiff_t>(taken), planned.end());
    if (before == 0)
        probes_ = std::move(planned);
    else
        probes_.insert(probes_.end(), std::move_iterator(planned.begin()), std::move_iterator(planned.end()));
}

// Of each glob: what it left out. An error when nothing of it is left.
Result<void> Armed::report_left_out(size_t first) {
    ErrorRound errors;
    for (size_t i = first; i < ranges_.size(); i++) {
        const ProbeDecl& probe = parts_.declared.probes()[i];
        const LeftOut& left = ranges_[i].left_out;
        const std::string text = left.text();
        if (text.empty()) continue;
        if (ranges_[i].count == 0 && !probe.optional)
            errors.add({Errc::script, "no function that matches can be probed: " + text, probe.at});
        else if (parts_.options.verbose || (left.unwilling() && !parts_.options.quiet))
            parts_.client.note(
                Note::Info,
                Error{Errc::script, fmt::format("{} probed; left out: {}", ranges_[i].count, text), probe.at}
                    .message());
    }
    if (!errors.empty()) return errors.error();
    return {};
}

// ftrace lets one of them decide where a function goes: a stub, or a handler that overrides.
void Armed::leave_to_kretprobes(const std::vector<PlannedProbe>& planned, std::vector<kpl_attach>& requests) const {
    std::set<uint64_t> moved;
    for (const PlannedProbe& plan : planned)
        if (plan.handlers[0] >= 0 && programs_[static_cast<size_t>(plan.handlers[0])].program.moves)
            moved.insert(plan.place.function_address);
    for (kpl_attach& request : requests) {
        if (request.kind != KPL_PROBE_DIRECT || !(request.flags & KPL_ATTACH_F_ELSE_KPROBE) ||
            !moved.contains(request.func))
            continue;
        request.kind = KPL_PROBE_KRETPROBE;
        request.flags &= ~KPL_ATTACH_F_ELSE_KPROBE;
        request.stack_args = 0;
    }
}

// A freezer, a tracer, a livepatch or SIGSTOP interrupts as a signal does, and asks for no end.
Result<Attached> Armed::try_attach(std::vector<kpl_attach>& requests) {
    const auto asked = requests;
    for (int tries = 0; tries < most_tries && parts_.client.attaching(device_); tries++) {
        if (tries > 0) requests = asked;
        const auto attached = device_.attach(requests);
        parts_.client.attached();
        if (!attached || *attached != Attached::Interrupted) return attached;
    }
    return Attached::Interrupted;
}

Result<Armed::Outcome> Armed::attach(std::vector<PlannedProbe> planned, size_t first) {
    std::vector<kpl_attach> requests;
    requests.reserve(planned.size());
    for (const PlannedProbe& plan : planned) {
        requests.push_back(
            attach_request(parts_.declared.probes()[plan.declaration], plan, programs_, parts_.paths, pid_));
        if (parts_.options.no_self) requests.back().when.mask |= KPL_WHEN_OTHERS;
    }
    leave_to_kretprobes(planned, requests);
    const uint64_t began = monotonic_ns();
    const Attached attached = TRY(try_attach(requests));
    if (attached == Attached::Interrupted) return Outcome::Interrupted;
    const double seconds = seconds_since(began);
    const std::string errors = attach_errors(planned, requests);
    const auto not_direct = not_direct_text(requests, planned);
    if (attached == Attached::Refused)
        return Error{Errc::script, errors.empty() ? "the kernel refused the probes" : errors};
    take_attached(std::move(planned), requests);
    if (!errors.empty()) return Error{Errc::script, errors};  // what could not be excused after all: none
    TRY(report_left_out(first));
    if (parts_.options.verbose)
        for (const std::string& line : not_direct) parts_.client.note(Note::Detail, line);
    if (parts_.options.verbose)
        parts_.client.note(Note::Detail, fmt::format("armed in {:.3f} s: {}", seconds, attached_text(requests)));
    return Outcome::Armed;
}

// Those armed since there were `before`.
Result<void> Armed::detach_from(size_t before) {
    std::vector<uint32_t> ids;
    for (size_t i = before; i < probes_.size(); i++) ids.push_back(probes_[i].id);
    if (ids.empty()) return {};
    const uint64_t began = monotonic_ns();
    TRY(device_.control(KPL_CTL_DETACH, ids));
    if (parts_.options.verbose)
        parts_.client.note(Note::Detail, fmt::format("{} probe{} gone in {:.3f} s", ids.size(), plural(ids.size()),
                                                     seconds_since(began)));
    return {};
}

Result<void> Armed::detach_all() {
    Result<void> first;
    for (uint32_t i = 0; i < ranges_.size(); i++) {
        const auto last = status(i);
        if (first && !last) first = last.error();
        last_states_.push_back(last ? last->state : "detached");
    }
    const Result<void> detached = detach_from(0);
    return first ? detached : first;
}

// ---- switching
Result<void> Armed::control(std::span<const uint32_t> declarations, kpl_control_op op) {
    std::vector<uint32_t> ids;
    for (const uint32_t declaration : declarations)
        for (const PlannedProbe& probe : probes_of(declaration)) ids.push_back(probe.id);
    if (ids.empty()) return {};
    if (auto done = device_.control(op, ids); !done) {
        for (const uint32_t declaration : declarations)
            if (auto status = this->status(declaration); status && status->state == "gone")
                return Error{
                    Errc::script,
                    "the probe's module was unloaded, or has freed its start-up code: declare the probe again when it "
                    "is back"};
        return done;
    }
    if (op == KPL_CTL_DETACH)
        for (const uint32_t declaration : declarations) TRY(retire(declaration));
    return {};
}

// The programs of a declaration whose probes are gone for good: tells where they stopped last, and frees them.
Result<void> Armed::retire(uint32_t declaration) {
    for (const PlannedProbe& probe : probes_of(declaration))
        for (const int handler : probe.handlers) {
            if (handler < 0 || programs_[static_cast<size_t>(handler)].freed) continue;
            ArmedProgram& program = programs_[static_cast<size_t>(handler)];
            for (const std::string& line : TRY(stops_.last_of(device_, programs_, static_cast<uint32_t>(handler))))
                parts_.client.note(Note::Stop, line);
            program.freed = device_.free(KPL_FREE_PROG, program.loaded.id).ok();
        }
    return {};
}

Result<ProbeStatus> Armed::status(uint32_t declaration) const {
    ProbeStatus status;
    std::vector<uint32_t> ids;
    for (const PlannedProbe& probe : probes_of(declaration)) ids.push_back(probe.id);
    TRY(device_.each_stats(ids, [&](size_t i, const kpl_probe_stats& one) {
        if (i == 0) status.state = state_name(one.state);
        add(status.first, one.entry);
        add(status.second, one.ret);
        status.outstanding += one.outstanding;
        status.dropped += one.dropped;
        status.truncated += one.truncated;
        status.moved += one.moved;
        if (state_name(one.state) != status.state) status.state = "mixed";
    }));
    if (declaration < last_states_.size()) status.state = last_states_[declaration];
    return status;
}

// ---- reports
Result<void> Armed::report_stops(bool last) {
    for (const std::string& line : TRY(stops_.poll(device_, programs_, last))) parts_.client.note(Note::Stop, line);
    return {};
}

// Says once of each declaration that its probes in a module went with it, or with its start-up code.
Result<void> Armed::report_gone() {
    for (auto& [module, probes] : in_modules_) {
        std::vector<uint32_t> ids;
        for (const size_t probe : probes) ids.push_back(probes_[probe].id);
        std::vector<size_t> left;
        TRY(device_.each_stats(ids, [&](size_t i, const kpl_probe_stats& one) {
            if (one.state == KPL_STATE_GONE)
                tell_gone(probes_[probes[i]]);
            else if (one.state != KPL_STATE_DETACHED)
                left.push_back(probes[i]);
        }));
        probes = std::move(left);
    }
    std::erase_if(in_modules_, [](const auto& entry) { return entry.second.empty(); });
    std::erase_if(in_programs_, [this](const auto& entry) {
        const PlannedProbe& plan = probes_[entry.second];
        return is_replaced(plan.place) && (tell_replaced(plan), true);
    });
    return {};
}

Result<void> Armed::report_overloads() {
    std::vector<uint32_t> ids;
    for (const PlannedProbe& probe : probes_) ids.push_back(probe.id);
    for (const Overload& one : TRY(overloads_.poll(device_, ids))) {
        const PlannedProbe& plan = probes_[one.probe];
        const std::string place = plan.place.text();
        parts_.client.overloaded(place, one);
        parts_.client.note(Note::Warning, Error{Errc::script, overload_text(place, one, parts_.options.cpu_share),
                                                parts_.declared.probes()[plan.declaration].at}
                                              .message());
    }
    return {};
}

// Once of each file, by the first of its probes.
void Armed::tell_replaced(const PlannedProbe& plan) {
    const ProbeDecl& probe = parts_.declared.probes()[plan.declaration];
    if (probe.detached) return;
    parts_.client.note(
        Note::Warning,
        Error{Errc::script,
              fmt::format("{}: the file was replaced or removed: processes that run the old one are still probed, "
                          "later ones are not: declare the probe again",
                          plan.place.text()),
              probe.at}
            .message());
}

void Armed::tell_gone(const PlannedProbe& plan) {
    const ProbeDecl& probe = parts_.declared.probes()[plan.declaration];
    if (probe.detached || std::exchange(ranges_[plan.declaration].told_gone, true)) return;
    parts_.client.note(
        Note::Warning,
        Error{Errc::script,
              fmt::format("{}: the module was unloaded, or has freed its start-up code: the probe is gone; "
                          "declare it again when the module is back",
                          plan.place.text()),
              probe.at}
            .message());
}

}  // namespace kpl
