// SPDX-License-Identifier: MIT
// -l with a script: where its probes would be, by its main chunk. The module is not asked, and nothing is
// compiled.
#include <fmt/format.h>

#include "inspect/print_lists.hpp"
#include "session/session.hpp"

namespace kpl {
namespace {

const char* kind_name(ProbeKind kind) {
    return kind == ProbeKind::Kretprobe ? "kretprobe" : kind == ProbeKind::Jprobe ? "jprobe" : "kprobe";
}

}  // namespace

Result<int> Session::list() {
    const BlacklistOnDemand blacklist;
    size_t count = 0;
    std::string errors;
    for (const ProbeDecl& probe : declared_) {
        if (probe.detached) continue;
        auto resolved = resolve_targets(probe, symbols_, blacklist, true);
        if (!resolved) {
            errors += (errors.empty() ? "" : "\n") + resolved.error().message();
            continue;
        }
        const Resolved& found = *resolved;
        for (const Error& error : found.missing) say("warning: " + error.message() + " (optional: skipped)");
        for (const Error& note : found.notes) say("note: " + note.message());
        for (const KernelPlace& place : found.places) {
            Types* types = options_.verbose ? &types_ : nullptr;
            const std::string declaration =
                types ? c_declaration({place.function, place.module}, *types) : "";
            sink_.write(options_.format == Format::Json
                            ? json_target(kind_name(probe.kind), place.text(), place.address, declaration)
                            : print_target(kind_name(probe.kind), place.text(), declaration));
        }
        count += found.places.size();
    }
    sink_.flush_all();
    if (!errors.empty()) return Error{Errc::script, errors};
    return count ? 0 : 1;
}

}  // namespace kpl
