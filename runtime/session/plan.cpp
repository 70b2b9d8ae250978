// SPDX-License-Identifier: MIT
#include "session/plan.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>

#include "session/change.hpp"
#include "session/sources.hpp"

namespace kpl {
namespace {

void note_skipped(Client& client, const Error& error) {
    client.note(Note::Warning, "warning: " + error.message() + " (optional: skipped)");
}

// The places of one declaration, and their handlers. `others`: probes of the session beside these.
Result<std::vector<PlannedProbe>> plan_one(const Planning& planning, Declared& declared, uint32_t number, size_t others,
                                           LeftOut& left_out) {
    const Options& options = planning.options;
    const ProbeDecl& probe = declared.probes()[number];
    if (probe.detached) return std::vector<PlannedProbe>{};
    Resolved found = TRY(resolve(probe, planning.kernel, planning.paths.blacklist, !options.check));
    for (const Error& error : found.missing) note_skipped(planning.client, error);
    if (!options.quiet)
        for (const Error& note : found.notes) planning.client.note(Note::Info, "note: " + note.message());
    if (!options.check) {
        TRY(check_attachable(probe, found.places, planning.paths, planning.pid));
        if (others + found.places.size() > options.max_probes)
            return too_many_error(probe, found.places.size(), others, options.max_probes);
    }
    for (const KernelPlace& place : found.places)
        if (place.function_address && !place.special->program && (!place.by_glob || !place.special->shown.empty()))
            planning.kernel.symbols.prefer(place.function_address, place.name());
    left_out = found.left_out;
    if (options.unsafe != Unsafe::No && probe_kind(probe.kind).source == Source::Function)
        for (KernelPlace& place : found.places) TRY(look_at_change(place, planning.kernel.symbols));
    auto planned = TRY(plan_probe(probe, number, std::move(found.places), declared.unit(), planning.kernel.types));
    if (!options.check && wants_direct(probe, planning.paths))
        for (PlannedProbe& one : planned) one.direct = TRY(direct_call(planning.kernel.types, one.place));
    return planned;
}

// The functions of all of them by name, each once; of thousands, the first few.
std::vector<std::string> some_functions(const Declared& declared, size_t first) {
    constexpr size_t few = 8;
    std::set<std::string> names;
    for (size_t i = first; i < declared.probes().size(); i++) {
        const ProbeDecl& probe = declared.probes()[i];
        if (names.size() >= few) break;
        if (probe_kind(probe.kind).source != Source::Function) continue;
        for (std::string& name : plain_names(std::span(probe.targets).first(std::min(few, probe.targets.size()))))
            names.insert(std::move(name));
    }
    return {names.begin(), names.end()};
}

}  // namespace

Result<Plan> plan_pending(const Planning& planning, Declared& declared) {
    Plan plan;
    plan.first = declared.first_pending();
    plan.left_out.resize(declared.probes().size() - plan.first);
    ErrorRound errors;
    planning.kernel.symbols.refresh();
    planning.kernel.tracepoints.refresh();
    auto functions = some_functions(declared, plan.first);
    planning.kernel.symbols.expect(functions);
    planning.kernel.types.expect(std::move(functions));
    for (size_t i = plan.first; i < declared.probes().size(); i++) {
        auto one = plan_one(planning, declared, static_cast<uint32_t>(i), planning.armed + plan.probes.size(),
                            plan.left_out[i - plan.first]);
        if (one && plan.probes.empty())
            plan.probes = std::move(*one);
        else if (one)
            plan.probes.insert(plan.probes.end(), std::move_iterator(one->begin()), std::move_iterator(one->end()));
        else if (declared.probes()[i].optional && one.error().code == Errc::script)
            note_skipped(planning.client, one.error());
        else
            errors.add(one.error());
    }
    planning.kernel.symbols.rest(planning.options.check ? std::string_view() : Blacklist::head);
    if (!errors.empty()) return errors.error();
    return plan;
}

}  // namespace kpl
