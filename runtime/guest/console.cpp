// SPDX-License-Identifier: MIT
#include "guest/console.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kpl {
namespace {

// As the kernel prints them: lib/bug.c, kernel/panic.c, arch/x86/kernel/dumpstack.c, mm/fault.c,
// kernel/watchdog.c, kernel/rcu/tree_stall.h, kernel/hung_task.c, lib/refcount.c, lib/list_debug.c,
// lib/ubsan.c, mm/kasan, mm/kfence. "WARNING:" only starts a line: boot messages contain it ("Spectre V2 :
// WARNING: Unprivileged eBPF is enabled").
constexpr std::string_view line_starts[] = {"WARNING:", "Oops", "UBSAN", "rcu: INFO:", "Call Trace:"};
constexpr std::string_view anywhere[] = {
    "BUG:",
    "kernel BUG at",
    "Kernel panic",
    "KASAN",
    "KFENCE:",
    "general protection fault",
    "unable to handle",
    "divide error:",
    "invalid opcode:",
    "stack segment:",
    "double fault:",
    "soft lockup",
    "hard LOCKUP",
    "Hard LOCKUP",
    "self-detected stall",
    "detected stalls",
    "detected expedited stalls",
    "blocked for more than",
    "refcount_t:",
    "list_add corruption",
    "list_del corruption",
    "scheduling while atomic",
    "sleeping function called from invalid context",
    "suspicious RCU usage",
    "stack-protector:",
};

// kernel/kcsan/report.c
constexpr std::string_view race_start = "BUG: KCSAN:", race_end = "Reported by Kernel Concurrency Sanitizer";

// "kpl_stub_12": it stands between a function with a direct return probe and its caller.
bool names_a_stub(std::string_view line) {
    constexpr std::string_view start = " kpl_stub_";
    const auto at = line.find(start);
    return at != line.npos && line.substr(at + start.size()).find_first_of("0123456789") == 0;
}

}  // namespace

// "[    1.234567] text" and, on some kernels, "[    1.234567][    T1] text".
std::string_view without_stamp(std::string_view line) {
    while (line.starts_with('[')) {
        const auto end = line.find("] ");
        const auto next = line.find("][");
        if (next != std::string_view::npos && next < end)
            line.remove_prefix(next + 1);
        else if (end != std::string_view::npos)
            line.remove_prefix(end + 2);
        else
            break;
    }
    return line;
}

bool names_our_module(std::string_view line) {
    return line.find("[kprobe_lua") != line.npos || line.find("[kpl_") != line.npos;
}

bool is_splat(std::string_view line) {
    line = without_stamp(line);
    return std::any_of(std::begin(line_starts), std::end(line_starts),
                       [line](std::string_view mark) { return line.starts_with(mark); }) ||
           std::any_of(std::begin(anywhere), std::end(anywhere),
                       [line](std::string_view mark) { return line.find(mark) != std::string_view::npos; });
}

void Console::append(std::string_view bytes) {
    for (char c : bytes) {
        if (c == '\n')
            take_line(std::exchange(partial_, {}));
        else if (c != '\r')
            partial_.push_back(c);
    }
}

void Console::take_line(std::string line) {
    for (const std::string& text : harmless_)
        if (line.find(text) != line.npos) trace_to_come_ = true;
    const bool trace = without_stamp(line).starts_with("Call Trace:");
    if (is_splat(line) && !(trace && std::exchange(trace_to_come_, false))) {
        splat_lines_.push_back(lines_.size());
        splats_.emplace_back(without_stamp(line));
    }
    follow_race(without_stamp(line));
    lines_.push_back(std::move(line));
}

void Console::follow_race(std::string_view line) {
    if (line.starts_with(race_start)) {
        race_.reset();
        if (names_our_module(line)) return;
        race_ = lines_.size();
        in_racy_ = std::any_of(racy_.begin(), racy_.end(),
                               [line](const std::string& function) { return line.find(function) != line.npos; });
        interrupted_ = false;
    } else if (line.empty()) {
        interrupted_ = false;  // a stack has ended
    } else if (line.find(" asm_sysvec_") != line.npos || line.find(" asm_common_interrupt") != line.npos) {
        interrupted_ = true;
    } else if (race_ && names_our_module(line) && !names_a_stub(line) && !in_racy_ && !interrupted_) {
        race_.reset();
    } else if (race_ && line.starts_with(race_end)) {
        const auto at = std::find(splat_lines_.begin(), splat_lines_.end(), *race_);
        splats_.erase(splats_.begin() + (at - splat_lines_.begin()));
        splat_lines_.erase(at);
        kernel_races_.push_back(*race_);
        race_.reset();
    }
}

std::vector<std::string> Console::lines() const {
    std::vector<std::string> all = lines_;
    if (!partial_.empty()) all.push_back(partial_);
    return all;
}

std::string Console::excerpt(std::size_t limit) const {
    const std::vector<std::string> all = lines();
    const std::size_t tail = all.size() > limit ? all.size() - limit : 0;
    const std::size_t from = splats_.empty() ? tail : splat_lines_.front();
    std::string text;
    for (std::size_t i = from; i < all.size(); i++)
        if (i < from + limit || without_stamp(all[i]).starts_with("kprobe_lua: ")) text += "  " + all[i] + "\n";
    return text;
}

}  // namespace kpl
