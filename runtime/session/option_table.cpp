// SPDX-License-Identifier: MIT
#include "session/option_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "uapi/kprobe_lua.h"

namespace kpl {
namespace {

constexpr const char* stages[] = {"bc", "ir", "asm", "native"};

const OptionRow rows[] = {
    {"require", "-r", "REQUIRE", "MODULE", "require this Lua module first", &Options::modules},
    {"include", "-I", "INCLUDE", "DIR", "look for Lua modules here first", &Options::search_dirs},
    {"pid", "-p", "PID", "PID", "only hits of this process", &Options::pid, 1},
    {"no-self", "--no-self", "NO_SELF", " ", "no hits of kprobe-lua itself, such as those of its output",
     &Options::no_self},
    {"buffer", "--buffer", "BUFFER", "SIZE",
     "size of the event ring of each CPU, such as 4M, rounded up to a power of two; by default 1M, which grows up to 16M",
     &Options::ring_bytes, 4096, KPL_MAX_RING, true},
    {"wake-latency", "--wake-latency", "WAKE_LATENCY", "MS",
     "how long events may gather before they are delivered; 0: not at all", &Options::wake_latency_ms, 0, 60000},
    {"wake-fill", "--wake-fill", "WAKE_FILL", "PERCENT",
     "how full a ring gets, in percent, before its events are delivered", &Options::wake_fill, 1, 50},
    {"quiet", "-q,--quiet", "QUIET", " ", "no messages except errors and losses", &Options::quiet},
    {"verbose", "-v,--verbose", "VERBOSE", " ", "say what happens; always print the account at the end",
     &Options::verbose},
    {"max-probes", "--max-probes", "MAX_PROBES", "N", "most functions that globs and lists may stand for (1000)",
     &Options::max_probes, 1, 65536},
    {"cpu-share", "--cpu-share", "CPU_SHARE", "PERCENT",
     "how much of each CPU all handlers may take, in percent (25); 100: no bound", &Options::cpu_share, 1,
     KPL_SHARE_OFF},
    {"dead-man", "--dead-man", "DEAD_MAN", "SECONDS",
     "detach if this process does not run for SECONDS, for example because it is stopped", &Options::dead_man, 2,
     KPL_MAX_DEAD_MAN},
    {"unsafe", "--unsafe", "UNSAFE", "[=inject]",
     "let handlers change registers, return values and where functions go on; =inject: only override functions that "
     "are marked for error injection",
     &Options::unsafe},
    {"check", "--check", "CHECK", " ", "compile and verify only: no root, no module", &Options::check},
    {"dump", "-d", "DUMP", "STAGE[,...]", "print stages of the compiler: bc, ir, asm, native, all", &Options::dump},
};

Result<bool> parse_flag(const std::string& text) {
    for (const char* yes : {"", "1", "true", "yes", "on"})
        if (text == yes) return true;
    for (const char* no : {"0", "false", "no", "off"})
        if (text == no) return false;
    return Error{Errc::usage, "takes 1 or 0"};
}

Result<uint32_t> option_number(const OptionRow& row, const std::string& text) {
    uint64_t number = 0;
    const char* const end = text.data() + text.size();
    auto [at, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && row.size && at != end) {
        const std::string_view unit(at, static_cast<size_t>(end - at));
        const int shift = unit == "K" || unit == "k" ? 10 : unit == "M" || unit == "m" ? 20 : -1;
        if (shift > 0 && number < 1u << 20) number <<= shift, at = end;
    }
    if (error != std::errc() || at != end || number < row.least || number > row.most) {
        if (row.size) return Error{Errc::usage, "takes " + row.range()};
        return Error{Errc::usage,
                     "takes a whole number from " + (row.range().empty() ? std::to_string(row.least) : row.range())};
    }
    const auto value = static_cast<uint32_t>(number);
    return row.size ? std::bit_ceil(value) : value;
}

Result<void> add_stages(std::set<std::string>& into, const std::string& text) {
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        const std::string stage = text.substr(at, end - at);
        if (stage == "all")
            into.insert(std::begin(stages), std::end(stages));
        else if (std::find(std::begin(stages), std::end(stages), stage) != std::end(stages))
            into.insert(stage);
        else
            return Error{Errc::usage, "takes bc, ir, asm, native, all"};
        at = end + 1;
    }
    return {};
}

struct Setter {
    Options& options;
    const OptionRow& row;
    const std::string& text;

    Result<void> operator()(bool Options::*member) {
        options.*member = TRY(parse_flag(text));
        return {};
    }
    Result<void> operator()(Unsafe Options::*member) {
        if (text == "inject") {
            options.*member = Unsafe::Inject;
            return {};
        }
        const auto flag = parse_flag(text);
        if (!flag) return Error{Errc::usage, "takes 1, 0 or inject"};
        options.*member = *flag ? Unsafe::All : Unsafe::No;
        return {};
    }
    Result<void> operator()(uint32_t Options::*member) {
        options.*member = TRY(option_number(row, text));
        return {};
    }
    Result<void> operator()(std::optional<uint32_t> Options::*member) {
        options.*member = TRY(option_number(row, text));
        return {};
    }
    Result<void> operator()(std::vector<std::string> Options::*member) {
        (options.*member).push_back(text);
        return {};
    }
    Result<void> operator()(std::set<std::string> Options::*member) { return add_stages(options.*member, text); }
};

}  // namespace

std::string OptionRow::range() const {
    if (most == UINT32_MAX) return {};
    return size ? fmt::format("{}K to {}M", least >> 10, most >> 20) : fmt::format("{} to {}", least, most);
}

std::span<const OptionRow> option_table() { return rows; }

Result<void> set_option(Options& options, const OptionRow& row, const std::string& value) {
    if (auto done = std::visit(Setter{options, row, value}, row.member); !done)
        return Error{Errc::usage, fmt::format("{}, not '{}'", done.error().text, value)};
    return {};
}

Result<void> set_option(Options& options, const std::string& name, const std::string& value) {
    for (const OptionRow& row : rows) {
        if (row.name != name) continue;
        if (auto done = set_option(options, row, value); !done)
            return Error{Errc::usage, fmt::format("'{}' {}", name, done.error().text)};
        return {};
    }
    std::string names;
    for (const OptionRow& row : rows) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
    return Error{Errc::usage, fmt::format("no option '{}'; there are: {}", name, names)};
}

}  // namespace kpl
