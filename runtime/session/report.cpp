// SPDX-License-Identifier: MIT
#include "session/report.hpp"

#include <fmt/format.h>

#include "core/core.h"
#include "session/loop.hpp"

namespace kpl {
namespace {

constexpr uint64_t second = 1000000000;

std::string stop_line(const HandlerProgram& program, const kpl_site& site) {
    const PcNote* note = program.note_at(site.pc);
    std::string text = kpl_stop_text(site.reason);
    if (site.reason == KPL_STOP_BUDGET)
        text += fmt::format(": {}; make the handler shorter, or give its probe a larger budget =",
                            program.budget ? program.budget : KPL_DEFAULT_BUDGET);
    const bool fault = site.reason == KPL_STOP_READ || site.reason == KPL_STOP_USER_READ;
    if (fault) text += fmt::format(" {:#x}", site.bad_addr);
    if (fault && note && !note->what.empty()) text += " reading " + note->what;
    const Error line{Errc::script, fmt::format("{} ({} hit{})", text, site.count, site.count == 1 ? "" : "s"),
                     note ? note->at : SourceLoc{program.name, 0}};
    return line.message();
}

}  // namespace

Result<std::vector<std::string>> StopReporter::poll(const Device& device, const std::vector<ArmedProgram>& programs, bool last) {
    std::vector<std::string> lines;
    const kpl_info info = TRY(device.info());
    total_ = info.stops;
    if (info.stops == seen_ && !last) return lines;
    const uint64_t now = monotonic_ns();
    bool waiting = false;
    for (uint32_t i = 0; i < programs.size(); i++) {
        const auto room = static_cast<uint32_t>(programs[i].program.insns.size());
        for (const kpl_site& site : TRY(device.sites(programs[i].loaded.id, room))) {
            Told& told = told_[{i, site.pc}];
            if (site.count == told.count) continue;
            if (!last && told.count && now - told.at < second) {
                waiting = true;
                continue;
            }
            told = {site.count, now};
            lines.push_back(stop_line(programs[i].program, site));
        }
    }
    if (!waiting) seen_ = info.stops;
    return lines;
}

uint64_t stopped(const kpl_counts& counts) { return counts.faults + counts.errors + counts.overruns; }

std::string account_line(const std::string& name, const kpl_counts& counts) {
    std::string reasons;
    if (stopped(counts))
        reasons = fmt::format(" ({} faults, {} errors, {} overruns)", counts.faults, counts.errors, counts.overruns);
    return fmt::format("{}: {} hits = {} handled + {} stopped{} + {} skipped + {} missed", name, counts.hits, counts.handled,
                       stopped(counts), reasons, counts.skipped, counts.missed);
}

}  // namespace kpl
