// SPDX-License-Identifier: MIT
#include "command/account.hpp"

#include <fmt/format.h>

namespace kpl {
namespace {

uint64_t stopped(const kpl_counts& counts) { return counts.faults + counts.errors + counts.overruns; }

// What `when` refuses is what was asked for, unless it refuses everything.
bool as_asked(const kpl_counts& counts) {
    return counts.hits == counts.handled + counts.skipped && (counts.handled || !counts.skipped);
}

// "vfs_read: 12 hits = 10 handled + 2 stopped (2 faults) + 0 skipped + 0 missed"
std::string counts_line(const std::string& name, const kpl_counts& counts) {
    std::string reasons;
    if (stopped(counts))
        reasons = fmt::format(" ({} faults, {} errors, {} overruns)", counts.faults, counts.errors, counts.overruns);
    return fmt::format("{}: {} hits = {} handled + {} stopped{} + {} skipped + {} missed", name, counts.hits,
                       counts.handled, stopped(counts), reasons, counts.skipped, counts.missed);
}

void add_probe(AccountText& text, const Account::Probe& probe, bool all) {
    const ProbeStatus& status = probe.status;
    text.lost |= stopped(status.first) || stopped(status.second) || status.first.missed || status.second.missed;
    if (!as_asked(status.first) || (all && probe.has_first))
        text.lines.push_back(counts_line(probe.name, status.first) +
                             (status.dropped ? fmt::format(", {} returns dropped", status.dropped) : ""));
    if (!status.second_name.empty() && (!as_asked(status.second) || all))
        text.lines.push_back(counts_line(probe.name + " " + status.second_name, status.second) +
                             (status.follows_calls ? fmt::format(", {} outstanding", status.outstanding) : ""));
    if (!probe.changes.empty()) text.lines.push_back(fmt::format("unsafe: {}: {}", probe.name, probe.changes));
    if (status.truncated)
        text.lines.push_back(fmt::format("{}: {} values cut at their limit", probe.name, status.truncated));
}

void add_events(AccountText& text, const Account::Events& events, bool all, const char* left_by) {
    const uint64_t left = events.sent - events.delivered - events.lost;
    text.lost |= events.lost != 0;
    if (events.lost || (left && left_by) || all)
        text.lines.push_back(
            fmt::format("events: {} sent = {} delivered + {} lost{}{}", events.sent, events.delivered, events.lost,
                        left ? fmt::format(" + {} left by {}", left, left_by ? left_by : "the closed output") : "",
                        events.grown ? fmt::format("; a ring grew to {}K", events.grown >> 10) : ""));
}

void add_map(AccountText& text, const Account::Map& map) {
    const auto warn = [&](uint64_t n, const char* what) {
        if (!n) return;
        text.lost = true;
        text.lines.push_back(Error{Errc::script, fmt::format("{} {}", n, what), map.at}.message());
    };
    warn(map.full, "updates lost: the map was full (declare it with a larger max)");
    warn(map.without, "updates lost: there was no memory for it on a CPU that came up");
    warn(map.busy, "accesses given up: other CPUs held the key's part of the map for too long");
}

}  // namespace

AccountText account_text(const Account& account, bool all, const char* left_by) {
    AccountText text;
    for (const Account::Probe& probe : account.probes) add_probe(text, probe, all);
    if (account.events) add_events(text, *account.events, all, left_by);
    for (const Account::Map& map : account.maps) add_map(text, map);
    constexpr uint64_t few = 1000;
    if (account.hits_about >= few && account.hits_own > account.hits_about / 2)
        text.lines.push_back(fmt::format("about {} % of the hits are of this process itself: --no-self leaves them out",
                                         account.hits_own * 100 / account.hits_about));
    if (const uint64_t n = account.lost_mappings)
        text.lines.push_back(fmt::format(
            "{} event{} of processes that map code went by unseen: addresses of theirs may have no names, or wrong ones",
            n, n == 1 ? "" : "s"));
    if (const uint64_t n = account.silent_files)
        text.lines.push_back(fmt::format(
            "{} file{} of processes did not answer within 3 s: their file systems hang, or who holds up their memory, and "
            "addresses there have no names",
            n, n == 1 ? "" : "s"));
    if (const uint64_t n = account.large_files)
        text.lines.push_back(
            fmt::format("{} look{} at files of processes found one that is too large: its addresses have no names", n,
                        n == 1 ? "" : "s"));
    if (const uint64_t n = account.unasked_files)
        text.lines.push_back(fmt::format(
            "{} look{} at files of processes {} not made, for want of time, processes or memory: addresses may "
            "have no names",
            n, n == 1 ? "" : "s", n == 1 ? "was" : "were"));
    if (const uint64_t n = account.unknown_processes)
        text.lines.push_back(
            fmt::format("{} process{} had ended before {} memory was known: {} addresses have no names", n,
                        n == 1 ? "" : "es", n == 1 ? "its" : "their", n == 1 ? "its" : "their"));
    return text;
}

}  // namespace kpl
