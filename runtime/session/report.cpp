// SPDX-License-Identifier: MIT
#include "session/report.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/core.h"
#include "session/timers.hpp"

namespace kpl {
namespace {

constexpr uint64_t second = 1000000000;

// Below lies what is left of a NULL pointer with an offset; the ends hold for the largest address spaces.
constexpr uint64_t first_user = 0x10000, last_user = (uint64_t{1} << 56) - 1, first_kernel = uint64_t{0xff} << 56;

// Whose memory a bad address is in, when that is why it was bad; else nothing.
std::string_view other_memory(const kpl_site& site) {
    if (site.reason == KPL_STOP_READ && site.bad_addr >= first_user && site.bad_addr <= last_user)
        return ": an address of the process: ustr, ubuf, or a pointer cast to \"… user *\"";
    if (site.reason == KPL_STOP_USER_READ && site.bad_addr >= first_kernel)
        return ": an address of the kernel: str, buf";
    return {};
}

std::string stop_line(const HandlerProgram& program, const kpl_site& site) {
    const PcNote* note = program.note_at(site.pc);
    std::string text = kpl_stop_text(site.reason);
    if (site.reason == KPL_STOP_BUDGET)
        text += fmt::format(": {}; make the handler shorter, or give its probe `budget = N`, up to 1,000,000",
                            program.budget ? program.budget : KPL_DEFAULT_BUDGET);
    const bool fault = site.reason == KPL_STOP_READ || site.reason == KPL_STOP_USER_READ;
    if (fault) text += fmt::format(" {:#x}", site.bad_addr);
    if (fault && note && !note->what.empty()) text += " reading " + note->what;
    text += other_memory(site);
    const Error line{Errc::script, fmt::format("{} ({} hit{})", text, site.count, site.count == 1 ? "" : "s"),
                     note ? note->at : SourceLoc{program.name, 0}};
    return line.message();
}

}  // namespace

Result<bool> StopReporter::tell(const Device& device, const std::vector<ArmedProgram>& programs, uint32_t program,
                                bool last, std::vector<std::string>& lines) {
    const ArmedProgram& armed = programs[program];
    if (armed.freed) return false;
    const uint64_t now = monotonic_ns();
    bool waiting = false;
    const auto room = static_cast<uint32_t>(armed.program.insns.size());
    for (const kpl_site& site : TRY(device.sites(armed.loaded.id, room))) {
        Told& told = told_[{program, site.pc, site.reason}];
        if (site.count == told.count) continue;
        if (!last && told.count && now - told.at < second) {
            waiting = true;
            continue;
        }
        told = {site.count, now};
        lines.push_back(stop_line(armed.program, site));
    }
    return waiting;
}

Result<std::vector<std::string>> StopReporter::poll(const Device& device, const std::vector<ArmedProgram>& programs,
                                                    bool last) {
    const kpl_info info = TRY(device.info());
    if (info.stops == seen_ && !last) return std::exchange(lines_, {});
    bool waiting = false;
    for (uint32_t i = 0; i < programs.size(); i++) waiting |= TRY(tell(device, programs, i, last, lines_));
    if (!waiting) seen_ = info.stops;
    return std::exchange(lines_, {});
}

Result<std::vector<std::string>> StopReporter::last_of(const Device& device, const std::vector<ArmedProgram>& programs,
                                                       uint32_t program) {
    std::vector<std::string> lines;
    TRY(tell(device, programs, program, true, lines));
    return lines;
}

void StopReporter::forget(size_t first) {
    told_.erase(told_.lower_bound({static_cast<uint32_t>(first), 0, 0}), told_.end());
}

}  // namespace kpl
