// SPDX-License-Identifier: MIT
// -l with a script: where its probes would be, by its main chunk. The module is not asked, and nothing is
// compiled.
#include <fmt/format.h>

#include "command/run.hpp"
#include "inspect/print_lists.hpp"
#include "session/sources.hpp"

namespace kpl {

Result<int> Run::list() {
    KernelView& kernel = session_->kernel();
    const BlacklistOnDemand blacklist;
    size_t count = 0;
    ErrorRound errors;
    for (const ProbeDecl& probe : session_->declared().probes()) {
        if (probe.detached) continue;
        auto resolved = resolve(probe, kernel, blacklist, true);
        if (!resolved) {
            errors.add(resolved.error());
            continue;
        }
        const Resolved& found = *resolved;
        for (const Error& error : found.missing)
            note(Note::Warning, "warning: " + error.message() + " (optional: skipped)");
        for (const Error& found_else : found.notes) note(Note::Info, "note: " + found_else.message());
        for (const KernelPlace& place : found.places) {
            const auto signature = options_.verbose ? signature_at(probe_kind(probe.kind).source, place, kernel.types)
                                                    : std::optional<Signature>();
            const std::string declaration = signature && *signature ? (*signature)->text : "";
            sink_.write(options_.format->lists_are_json()
                            ? json_target(probe_kind(probe.kind).name, place.text(), place.address, declaration)
                            : print_target(probe_kind(probe.kind).name, place.text(), declaration));
        }
        count += found.places.size();
    }
    const auto written = sink_.end();
    if (!errors.empty()) return errors.error();
    if (!written) return written.error();
    return count ? 0 : 1;
}

}  // namespace kpl
