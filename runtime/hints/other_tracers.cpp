// SPDX-License-Identifier: MIT
#include "hints/other_tracers.hpp"

#include <fmt/format.h>

#include <cctype>
#include <regex>

namespace kpl {
namespace {

constexpr TracerHint hints[] = {
#define HINT(tracer, names, shape, theirs, ours) {#tracer, names, shape, theirs, ours},
#include "hints/other_tracers.def"
#undef HINT
};

// Of what a regular expression is tried on: the library goes one call deeper with each character.
constexpr size_t longest = 4096;

using Match = std::match_results<std::string_view::const_iterator>;

bool matches(std::string_view text, const char* pattern, Match& found) {
    return std::regex_match(text.begin(), text.end(), found, std::regex(pattern));
}

bool contains(std::string_view text, const std::string& pattern) {
    return std::regex_search(text.begin(), text.end(), std::regex(pattern));
}

bool has_word(std::string_view words, std::string_view word) {
    while (!words.empty()) {
        const size_t end = std::min(words.find(' '), words.size());
        if (words.substr(0, end) == word) return true;
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return false;
}

// What stands for a target, whole; {1} and {2} are the pattern's groups.
struct TargetRow {
    const char* pattern;
    const char* answer;
};
constexpr const char* in_program = "write uprobe(\"{1}\", function(p) … end)";
constexpr const char* program_return = "write uretprobe(\"{1}\", function(p, ret) … end)";
constexpr const char* sys_enter = "write syscall(\"{1}\", function(p) … end), whose parameters after p are the call's";
constexpr const char* sys_exit = "write syscall{{ \"{1}\", ret = function(p, ret) … end }}";
constexpr const char* tracepoint =
    "write tracepoint(\"{1}\", function(p) … end), whose parameters after p are what it passes";
constexpr const char* entry = "write kprobe(\"{1}\", function(p) … end)";
constexpr const char* at_return = "write kretprobe(\"{1}\", function(p, ret) … end)";
constexpr const char* at_begin = "what runs first is the script itself, outside of functions";
constexpr const char* at_end = "write at_exit(function() … end)";

const TargetRow targets[] = {
    {R"(p:(?!hz:|s:|ms:|us:)(?:[^:]*:)?([A-Za-z_]\w*).*)", entry},
    {R"(r\d*:(?:[^:]*:)?([A-Za-z_]\w*).*)", at_return},
    {R"(fbt:[^:]*:([A-Za-z_]\w*):entry)", entry},
    {R"(fbt:[^:]*:([A-Za-z_]\w*):return)", at_return},
    {R"((?:k|kprobe|kfunc|fentry|fprobe):(?:vmlinux:)?(.+))", entry},
    {R"((?:kr|kretprobe|kretfunc|fexit):(?:vmlinux:)?(.+))", at_return},
    {R"((?:t|tracepoint):syscalls:sys_enter_(\w+))", sys_enter},
    {R"((?:t|tracepoint):syscalls:sys_exit_(\w+))", sys_exit},
    {R"((?:t|rt|tracepoint|rawtracepoint|raw_tracepoint):(.+))", tracepoint},
    {R"(syscalls:sys_enter_(\w+))", sys_enter},
    {R"(syscalls:sys_exit_(\w+))", sys_exit},
    {R"((?:sys_enter|sys_exit)_(\w+))", sys_enter},
    {R"((?:u|uprobe):(.*))", in_program},
    {R"((?:ur|uretprobe):(.*))", program_return},
    {R"~(process\("?([^")]+)"?\)\.function\("?([^"@)]+)[^)]*\)\.return.*)~",
     "write uretprobe(\"{1}:{2}\", function(p, ret) … end)"},
    {R"~(process\("?([^")]+)"?\)\.function\("?([^"@)]+)[^)]*\).*)~", "write uprobe(\"{1}:{2}\", function(p) … end)"},
    {R"((/[^:]*:[^:]+))", in_program},
    {R"((?:U|usdt):([^:]*:[^:]*:[^:]*))", "write usdt(\"{1}\", function(p) … end)"},
    {R"((?:U|usdt):([^:]*):([^:]*))", "write usdt(\"{1}:*:{2}\", function(p) … end)"},
    {R"~(process\("?([^")]+)"?\)\.mark\("?([^")]+).*)~", "write usdt(\"{1}:*:{2}\", function(p) … end)"},
    {R"((?:i|interval):s:(\d+))", "write every({1}, function() … end)"},
    {R"((?:i|interval):hz:(\d+))", "write every(1 / {1}, function() … end)"},
    {R"((?:i|interval):ms:(\d+))", "write every({1} / 1000, function() … end)"},
    {R"((?:i|interval):us:(\d+))", "write every({1} / 1000000, function() … end)"},
    {R"(timer\.s(?:ec)?\((\d+)\))", "write every({1}, function() … end)"},
    {R"(timer\.ms(?:ec)?\((\d+)\))", "write every({1} / 1000, function() … end)"},
    {R"((?:profile|p):hz:(\d+))", "write profile({1}, function(p) … end)"},
    {R"((?:timer\.profile|(?:profile|p)[:.](?:hz|ms|us|s)[:.].*))",
     "write profile(99, function(p) … end): 99 times a second on each processor"},
    {R"((?:hardware|h|software|s):([^:]+).*)", "write perf{{ \"{1}\", every = N, function(p) … end }}"},
    {R"(perf\.(.*))", "write perf{{ \"page-faults\", every = N, function(p) … end }}"},
    {R"((?:watchpoint|w|asyncwatchpoint):([^:]+).*)",
     "write watch{{ {1}, len = 8, on = \"w\", function(p, before, after) … end }}, of the kernel's data"},
    {R"((iter|timer)[:.](.*))", "handlers run where something happens: tracepoint, profile, interval"},
    {R"((BEGIN|begin))", at_begin},
    {R"((END|end))", at_end},
    {R"~((?:kernel|module\([^)]*\))\.function\("?([^"@)]+)[^)]*\)\.return.*)~", at_return},
    {R"~((?:kernel|module\([^)]*\))\.function\("?([^"@)]+)[^)]*\).*)~", entry},
    {R"~(kernel\.trace\("?([^")]+)"?\).*)~", tracepoint},
    {R"((?:nd_)?syscall[.:](\w+)\.return)", sys_exit},
    {R"((?:nd_)?syscall[.:](\w+))", sys_enter},
    {R"((?:sys|SyS|__sys)_(\w+))", sys_enter},
    {R"(@(\w*).*)", "@ is no part of a name here: a local variable holds a count(), a hist() or a map()"},
};

constexpr std::pair<const char*, const char*> commands[] = {
    {"record", "kprobe-lua -o FILE records what a script or tool prints; kprobe-lua tools lists the tools"},
    {"probe", "kprobe-lua -e 'kprobe(\"f\", function(p) … end)' probes f, kprobe-lua trace f prints its calls"},
    {"stat", "kprobe-lua funccount f counts the calls of f"},
    {"top", "kprobe-lua funccount --interval 1 f counts the calls of f, each second"},
    {"ftrace", "kprobe-lua trace f prints the calls of f, kprobe-lua stackcount f the ways to it"},
    {"function", "kprobe-lua trace f prints the calls of f"},
    {"report", "kprobe-lua prints what it saw at the end of a run"},
};

constexpr std::pair<const char*, const char*> operators[] = {
    {R"(!=)", "`~=` is Lua's `!=`"},
    {R"(\+\+|\+=|-=)", "Lua writes `x = x + 1`; what handlers count is n[key]:add()"},
    {R"(&&|\|\|)", "`and`, `or` and `not` are Lua's `&&`, `||` and `!`"},
    {R"(<<|>>|[^&]&[^&]|[^|]\|[^|])", "bit.band(a, b), bit.bor, bit.lshift and bit.rshift are Lua's operators on bits"},
    {R"(->)", "`.` is Lua's `->`"},
    {R"(\$\d)", "arg[1] is the script's first argument; keep tonumber(arg[1]) in a local outside of the handler"},
    {R"(@\w*)",
     "a local variable holds what is counted: local n = count() before the probe, n[key]:add() in the handler"},
    {R"(\w\[[^\]{]*,[^\]]*\])", "a key of several values is a table: n[{ a, b }]"},
    {R"(\?[^:]*:)", "`c and a or b` is Lua's `c ? a : b`"},
    {R"(\w\s*::)", "here a probe is kprobe(\"function\", function(p) … end)"},
};

// Who wrote it: what a script of theirs begins with, comments left out.
struct Beginning {
    const char* tracer;
    const char* shape;
    const char* document;
};
constexpr Beginning beginnings[] = {
    {"bpftrace",
     R"(^\s*((config|#include)\b[^\n]*\n\s*)*(BEGIN|END|(k|kr|t|rt|u|ur|U|p|i|h|s|w|kprobe|kretprobe|kfunc|kretfunc|fentry|fexit|)"
     R"(tracepoint|rawtracepoint|uprobe|uretprobe|usdt|profile|interval|hardware|software|watchpoint|iter)\s*:[^\s{]+)"
     R"((\s*,\s*[a-z]+:[^\s{]+)*)\s*(/[^{]*/)?\s*\{)",
     "docs/from-bpftrace.md"},
    {"SystemTap", R"(^\s*((global|function|private|%\{)[^\n]*\n\s*)*(probe\s+[a-z]|global\s+\w+))",
     "docs/from-systemtap.md"},
    {"DTrace",
     R"(^\s*(#pragma D[^\n]*\n\s*)*(\w*:[\w*]*:[\w*]*:[\w*]*)(\s*,\s*\w*:[\w*]*:[\w*]*:[\w*]*)*\s*(/[^{]*/)?\s*\{)",
     "docs/from-bpftrace.md, whose language is near to DTrace's"},
    {"a C compiler", R"((^|\n)\s*(#\s*include\s*[<"]|SEC\(|module_init\(|MODULE_LICENSE\())", "docs/language.md"},
};

// What stands before the next line.
std::string_view line_at(std::string_view text, size_t at) { return text.substr(at, text.find('\n', at) - at); }

// Comments of C and of the shell, and blanks after blanks, left out.
std::string without_comments(std::string_view code) {
    std::string text;
    bool at_begin = true;  // of a line
    for (size_t i = 0; i < code.size() && text.size() < longest; i++) {
        const std::string_view rest = code.substr(i, 2);
        const bool shell = at_begin && code[i] == '#' && (rest == "#!" || rest == "# " || rest == "#\t");
        if (rest == "//" || shell) {
            i += line_at(code, i).size() - 1;  // its end is what comes next
        } else if (rest == "/*") {
            const size_t end = code.find("*/", i + 2);
            if (end == code.npos) break;
            i = end + 1;
        } else if (code[i] == '\n') {
            text += '\n';
            at_begin = true;
        } else if (!std::isspace(static_cast<unsigned char>(code[i]))) {
            text += code[i];
            at_begin = false;
        } else if (!text.empty() && text.back() != ' ' && text.back() != '\n') {
            text += ' ';
        }
    }
    return text;
}

}  // namespace

std::span<const TracerHint> tracer_hints() { return hints; }

std::optional<std::string> foreign_name(std::string_view name) {
    for (const TracerHint& hint : hints)
        if (has_word(hint.names, name)) return fmt::format("{}'s {} is {}", hint.tracer, name, hint.ours);
    return std::nullopt;
}

std::optional<std::string> foreign_target(std::string_view target) {
    Match found;
    if (target.size() > longest) return std::nullopt;
    for (const TargetRow& row : targets) {
        if (!matches(target, row.pattern, found)) continue;
        return fmt::format(fmt::runtime(row.answer), "", found[1].str(), found.size() > 2 ? found[2].str() : "");
    }
    return std::nullopt;
}

std::optional<std::string> foreign_command(std::string_view word) {
    for (const auto& [theirs, answer] : commands)
        if (word == theirs) return answer;
    return std::nullopt;
}

std::optional<std::string> foreign_operator(std::string_view line) {
    // Not in a literal.
    const std::string text =
        std::regex_replace(std::string(line.substr(0, longest)), std::regex(R"("[^"]*"|'[^']*'|--.*)"), "\"\"");
    for (const auto& [pattern, answer] : operators)
        if (contains(text, pattern)) return answer;
    return std::nullopt;
}

std::optional<std::string> foreign_script(std::string_view code) {
    const std::string text = without_comments(code);
    for (const auto& [tracer, shape, document] : beginnings) {
        if (!contains(text, shape)) continue;
        std::string answer = fmt::format("this is written for {}; here scripts are Lua", tracer);
        bool any = false;
        for (const TracerHint& hint : hints) {
            if (hint.tracer != tracer || hint.ours.empty() || hint.theirs == hint.ours) continue;
            if (!contains(text, std::string(hint.shape))) continue;
            answer += fmt::format("{}\n  {:<40} {}", any ? "" : ", and this is", hint.theirs, hint.ours);
            any = true;
        }
        return answer + fmt::format("{}({})", any ? "\n  " : " ", document);
    }
    return std::nullopt;
}

}  // namespace kpl
