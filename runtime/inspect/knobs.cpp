// SPDX-License-Identifier: MIT
// Documentation/trace/kprobes.rst and Documentation/admin-guide/sysctl of Linux describe the kernel's own.
#include "inspect/knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "base/json_line.hpp"

namespace kpl {
namespace {

using Effect = KnobValue::Effect;

constexpr KnobValue kprobes[] = {
    {"1", Effect::Fine, "kprobes are enabled"},
    {"0", Effect::Silences, "kprobes are switched off: none is hit"},
};
constexpr KnobValue ftrace[] = {
    {"1", Effect::Fine, "ftrace is enabled"},
    {"0", Effect::Silences, "ftrace is switched off: probes on functions are not hit"},
};
constexpr KnobValue optimization[] = {
    {"1", Effect::Fine, "jump optimization is on"},
    {"0", Effect::Slower, "jump optimization is off: a probe within a function costs a breakpoint"},
};
constexpr KnobValue jit[] = {
    {"1", Effect::Fine, "JIT is on"},
    {"2", Effect::Fine, "JIT is on, and prints what it makes in the kernel log"},
    {"0", Effect::Slower, "JIT is off: handlers are interpreted"},
};
constexpr KnobValue harden[] = {
    {"0", Effect::Fine, "handlers' constants are as they are"},
    {"1", Effect::Fine, "constants of programs without rights are hidden; handlers have rights"},
    {"2", Effect::Slower, "constants of all programs are hidden: handlers take more instructions"},
};
constexpr KnobValue addresses[] = {
    {"1", Effect::Fine, "addresses are shown"},
    {"0", Effect::Fine, "addresses are shown, to all who may read /proc/kallsyms"},
    {"2", Effect::Hides, "kernel.kptr_restrict hides addresses, from root, too"},
};
constexpr KnobValue modules[] = {
    {"0", Effect::Fine, "modules may be loaded"},
    {"1", Effect::Hides, "kernel.modules_disabled is set: no module can be loaded until the next boot"},
};

constexpr KnobValue changes[] = {
    {"Y", Effect::Fine, "runs with --unsafe may change what the kernel does"},
    {"N", Effect::Fine, "no run may change what the kernel does, until the module is loaded again"},
};

constexpr Knob knob_rows[] = {
    {"kprobes", "/sys/kernel/debug/kprobes/enabled", kprobes, {}},
    {"ftrace", "/proc/sys/kernel/ftrace_enabled", ftrace, {}},
    {"optimization", "/proc/sys/debug/kprobes-optimization", optimization, {}},
    {"jit", "/proc/sys/net/core/bpf_jit_enable", jit, {}},
    {"jit-harden", "/proc/sys/net/core/bpf_jit_harden", harden, {}},
    {"addresses", "/proc/sys/kernel/kptr_restrict", addresses, {}},
    {"modules", "/proc/sys/kernel/modules_disabled", modules, {}, 0, true},
    {"changes", "/sys/module/kprobe_lua/parameters/changes", changes, {}, 0, true},
    {"memory",
     "/sys/module/kprobe_lua/parameters/memory_percent",
     {},
     "percent of the memory that all sessions may take",
     100},
};

std::string line(std::string_view name, std::string_view value, std::string_view meaning) {
    return fmt::format("{:<14}{:<4}{}\n", name, value, meaning);
}

std::string error_text(const Knob& knob, int error) {
    if (error == EACCES || error == EPERM) return fmt::format("{}: no right to: run as root", knob.path);
    if (error == ENOENT) return fmt::format("{}: this kernel has no such switch, or it is not mounted", knob.path);
    return fmt::format("{}: {}", knob.path, std::strerror(error));
}

}  // namespace

const KnobValue* Knob::find(std::string_view value) const {
    const auto at = std::find_if(values.begin(), values.end(), [&](const KnobValue& v) { return v.value == value; });
    return at == values.end() ? nullptr : &*at;
}

std::string Knob::command(std::string_view value) const {
    constexpr std::string_view sysctls = "/proc/sys/";
    if (for_good) return "boot again without it";
    if (!path.starts_with(sysctls)) return fmt::format("echo {} > {}", value, path);
    std::string name(path.substr(sysctls.size()));
    std::replace(name.begin(), name.end(), '/', '.');
    return fmt::format("sysctl -w {}={}", name, value);
}

std::span<const Knob> knobs() { return knob_rows; }

const Knob* find_knob(std::string_view name) {
    const auto* at =
        std::find_if(std::begin(knob_rows), std::end(knob_rows), [&](const Knob& knob) { return knob.name == name; });
    return at == std::end(knob_rows) ? nullptr : at;
}

std::optional<std::string> read_knob(const Knob& knob, const std::string& root) {
    std::ifstream file(root + std::string(knob.path));
    std::string value;
    if (!std::getline(file, value) || value.empty()) return std::nullopt;
    return value;
}

Result<void> set_knob(const Knob& knob, const std::string& value) {
    if (knob.values.empty()) {
        unsigned number = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        if (error != std::errc() || *end || number == 0 || number > knob.most)
            return Error{Errc::usage,
                         fmt::format("{} takes a number from 1 to {}: {}", knob.name, knob.most, knob.meaning)};
    } else if (!knob.find(value)) {
        std::string all;
        for (const KnobValue& one : knob.values) all += fmt::format("\n  {}: {}", one.value, one.meaning);
        return Error{Errc::usage, fmt::format("{} does not take '{}'; it takes{}", knob.name, value, all)};
    }
    errno = 0;
    std::ofstream file{std::string(knob.path)};
    file << value << std::flush;
    if (!file) return Error{Errc::system, error_text(knob, errno ? errno : EINVAL)};
    return {};
}

std::string silencing_knobs() {
    std::string text;
    const auto silences = [](const KnobValue& value) { return value.effect == Effect::Silences; };
    for (const Knob& knob : knob_rows) {
        if (std::none_of(knob.values.begin(), knob.values.end(), silences)) continue;
        const auto now = read_knob(knob);
        const KnobValue* const value = now ? knob.find(*now) : nullptr;
        if (!value || !silences(*value)) continue;
        text += fmt::format("{}{}; kprobe-lua knobs {} {} ends that", text.empty() ? "" : "\n", value->meaning,
                            knob.name, knob.values.front().value);
    }
    return text;
}

std::string print_knob(const Knob& knob) {
    const auto now = read_knob(knob);
    const KnobValue* const value = now ? knob.find(*now) : nullptr;
    std::string text = line(knob.name, now.value_or("?"),
                            value ? value->meaning
                            : now ? knob.meaning
                                  : "this kernel has no such switch, or it may not be read");
    for (const KnobValue& other : knob.values)
        if (&other != value) text += line("", "", fmt::format("{} would be: {}", other.value, other.meaning));
    return text;
}

std::string print_knobs() {
    std::string text;
    for (const Knob& knob : knob_rows) text += print_knob(knob);
    return text + "\nkprobe-lua knobs NAME VALUE sets one, for the whole system\n";
}

std::string json_knob(const Knob& knob) {
    const auto now = read_knob(knob);
    const KnobValue* const value = now ? knob.find(*now) : nullptr;
    return json_line("knob", {{"name", knob.name},
                              {"path", knob.path},
                              {"value", now ? Json(*now) : Json()},
                              {"meaning", value ? value->meaning : knob.meaning}});
}

std::string json_knobs() {
    std::string out;
    for (const Knob& knob : knob_rows) out += json_knob(knob);
    return out;
}

}  // namespace kpl
