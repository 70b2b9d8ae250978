// SPDX-License-Identifier: MIT
#include "inspect/print_function.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "arch/disasm.hpp"
#include "base/json_line.hpp"
#include "inspect/functions.hpp"

namespace kpl {
namespace {

// "je 0xffffffff81…" with the place by its name: "je +0x1a", "callq vfs_open".
std::string named(const NativeInsn& insn, const FunctionView& view, Kallsyms& symbols) {
    if (!insn.target) return insn.text;
    const std::string number = fmt::format("{:#x}", *insn.target);
    const size_t at = insn.text.rfind(number);
    if (at == std::string::npos) return insn.text;
    const bool inside = *insn.target - view.symbol.addr < view.size;
    return insn.text.substr(0, at) +
           (inside ? fmt::format("+{:#x}", *insn.target - view.symbol.addr) : symbols.name_of(*insn.target));
}

std::string hex(std::span<const uint8_t> bytes) {
    std::string out;
    for (const uint8_t byte : bytes) out += fmt::format("{}{:02x}", out.empty() ? "" : " ", byte);
    return out;
}

bool is_of_whole_function(Why why) {
    return why == Why::no_optprobes || why == Why::function_fixup || why == Why::function_undecoded ||
           why == Why::indirect_jump;
}

const char* mark(const Verdict& verdict, bool probe) { return !probe ? "-" : verdict.yes() ? "yes" : "no"; }

// Why not, in one line; what the header says of all instructions is not repeated.
std::string reasons(const ProbePoint& point, uint64_t function) {
    if (point.moved) return fmt::format("a probe here stands at +{:#x}", *point.moved - function);
    if (point.ftrace && point.probe.yes()) return "ftrace site: probed without a breakpoint";
    if (!point.probe.yes()) return text_of(point.probe, function);
    const bool same = !point.boost.yes() && point.optimize.at == point.addr;
    std::string out;
    if (!point.boost.yes()) out = "not boosted: " + text_of(point.boost, function);
    if (!point.optimize.yes() && !same && !is_of_whole_function(point.optimize.why))
        out += (out.empty() ? "" : "; ") + ("not optimized: " + text_of(point.optimize, function));
    return out;
}

struct Counts {
    size_t probe = 0, boost = 0, optimize = 0;
    Verdict whole;
};

Counts count(const FunctionView& view) {
    Counts counts;
    for (const ProbePoint& point : view.points) {
        counts.probe += point.probe.yes();
        counts.boost += point.probe.yes() && point.boost.yes();
        counts.optimize += point.optimize.yes();
        if (is_of_whole_function(point.optimize.why)) counts.whole = point.optimize;
    }
    return counts;
}

bool optimization_is_off() {
    std::string state;
    std::getline(std::ifstream("/proc/sys/debug/kprobes-optimization"), state);
    return state == "0";
}

std::string summary(const FunctionView& view, const Counts& counts) {
    std::string out = fmt::format("\nOf {} instructions {} can be probed, {} boosted, {} optimized.\n",
                                  view.points.size(), counts.probe, counts.boost, counts.optimize);
    if (!counts.whole.yes()) out += fmt::format("None is optimized: {}.\n", text_of(counts.whole, view.symbol.addr));
    if (counts.boost && view.rules.preemption)
        out += "This kernel boosts none of them: it is preemptible (CONFIG_PREEMPTION).\n";
    if (optimization_is_off()) out += "Optimization is switched off: sysctl -w debug.kprobes-optimization=1\n";
    if (counts.optimize) out += "A probe with a post handler is not optimized.\n";
    return out;
}

Json verdict(const Verdict& v, uint64_t function) {
    if (v.yes()) return {{"yes", true}};
    return {{"yes", false}, {"why", name_of(v.why)}, {"text", text_of(v, function)}};
}

}  // namespace

Result<std::vector<NativeInsn>> native_code(const FunctionView& view) {
    std::vector<uint8_t> lengths;
    size_t left = view.code.size();
    for (const ProbePoint& point : view.points) {
        // The last one may be cut off by the next symbol.
        lengths.push_back(static_cast<uint8_t>(std::min<size_t>(point.length, left)));
        left -= lengths.back();
    }
    return disassemble(host_arch(), view.code, view.symbol.addr, lengths);
}

Result<std::string> print_function(const FunctionView& view, Kallsyms& symbols) {
    const auto insns = TRY(native_code(view));
    const uint64_t begin = view.symbol.addr;
    size_t bytes_width = 5, text_width = 11;
    std::vector<std::string> texts;
    for (const NativeInsn& insn : insns) {
        texts.push_back(named(insn, view, symbols));
        bytes_width = std::max(bytes_width, insn.bytes.size() * 3 - 1);
        text_width = std::max(text_width, texts.back().size());
    }
    text_width = std::min<size_t>(text_width, 44);
    std::string out = fmt::format("{} at {:#x}, {} bytes\n\n  {:>7}  {:<5}  {:<5}  {:<8}  {:<{}}  instruction\n",
                                  target_name(view.symbol), begin, view.size, "offset", "probe", "boost", "optimize",
                                  "bytes", bytes_width);
    for (size_t i = 0; i < insns.size(); i++) {
        const ProbePoint& point = view.points[i];
        const bool probe = point.probe.yes();
        const std::string why = reasons(point, begin);
        std::string line =
            fmt::format("{} {:>7}  {:<5}  {:<5}  {:<8}  {:<{}}  {:<{}}",
                        point.addr == view.wanted && view.wanted != begin ? ">" : " ",
                        fmt::format("+{:#x}", point.addr - begin), probe ? "yes" : "no",
                        mark(point.boost, probe && !point.ftrace), mark(point.optimize, probe && !point.ftrace),
                        hex(insns[i].bytes), bytes_width, texts[i], why.empty() ? 0 : text_width);
        out += line + (why.empty() ? "" : "  " + why) + "\n";
    }
    return out + summary(view, count(view));
}

Result<std::string> json_function(const FunctionView& view, Kallsyms& symbols) {
    const auto insns = TRY(native_code(view));
    const uint64_t begin = view.symbol.addr;
    Json list = Json::array();
    for (size_t i = 0; i < insns.size(); i++) {
        const ProbePoint& point = view.points[i];
        Json one = {{"offset", point.addr - begin},
                    {"bytes", hex(insns[i].bytes)},
                    {"text", named(insns[i], view, symbols)},
                    {"probe", verdict(point.probe, begin)},
                    {"boost", verdict(point.boost, begin)},
                    {"optimize", verdict(point.optimize, begin)},
                    {"ftrace", point.ftrace}};
        if (point.moved) one["stands_at"] = *point.moved - begin;
        list.push_back(std::move(one));
    }
    // An address is no number that a double holds.
    return json_line("function", {{"name", view.symbol.name},
                                  {"module", view.symbol.module},
                                  {"address", fmt::format("{:#x}", begin)},
                                  {"size", view.size},
                                  {"instructions", std::move(list)}});
}

}  // namespace kpl
