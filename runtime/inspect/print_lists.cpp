// SPDX-License-Identifier: MIT
#include "inspect/print_lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "base/json_line.hpp"
#include "base/printable.hpp"
#include "inspect/functions.hpp"

namespace kpl {
namespace {

std::string address(uint64_t addr) { return fmt::format("{:#x}", addr); }  // no number that a double holds

std::string comm_of(int pid) {
    std::string comm;
    std::getline(std::ifstream(fmt::format("/proc/{}/comm", pid)) >> std::ws, comm);
    return printable(std::move(comm));
}

std::string owner_text(const SystemProbe& probe) {
    if (probe.owner.empty()) return "-";
    std::string text = probe.owner;
    std::string sessions;
    for (const int pid : probe.pids)
        sessions += fmt::format("{}{} {}", sessions.empty() ? "" : " or ", pid, comm_of(pid));
    return sessions.empty() ? text : text + " (" + sessions + ")";
}

}  // namespace

std::string print_probes(const std::vector<SystemProbe>& probes) {
    size_t width = 5;
    for (const SystemProbe& probe : probes) width = std::max(width, probe.place.size());
    std::string out = fmt::format("{:<16}  {:<9}  {:<9}  {:>6}  {:<{}}  OWNER\n", "ADDRESS", "KIND", "STATE", "MISSED",
                                  "PLACE", width);
    for (const SystemProbe& probe : probes)
        out += fmt::format("{:016x}  {:<9}  {:<9}  {:>6}  {:<{}}  {}\n", probe.addr, probe.kind, probe.state,
                           probe.missed ? std::to_string(*probe.missed) : "-", probe.place, width, owner_text(probe));
    return out;
}

std::string json_probes(const std::vector<SystemProbe>& probes) {
    std::string out;
    for (const SystemProbe& probe : probes) {
        Json data = {{"address", address(probe.addr)}, {"kind", probe.kind},   {"place", probe.place},
                     {"state", probe.state},           {"owner", probe.owner}, {"pids", probe.pids}};
        if (probe.missed) data["missed"] = *probe.missed;
        out += json_line("probe", std::move(data));
    }
    return out;
}

std::string print_calls(const std::vector<CallUnderWay>& calls) {
    if (calls.empty()) return {};
    std::string out = "\nCalls in progress, which return through kprobe_lua_stubs:\n";
    for (const CallUnderWay& call : calls)
        out += fmt::format("    {} ({} {})\n", call.function, call.pid, printable(call.comm));
    return out;
}

std::string json_calls(const std::vector<CallUnderWay>& calls) {
    std::string out;
    for (const CallUnderWay& call : calls)
        out += json_line("call", {{"function", call.function}, {"pid", call.pid}, {"comm", call.comm}});
    return out;
}

std::string print_blacklist(const std::vector<BlacklistRange>& ranges) {
    std::string out;
    for (const BlacklistRange& range : ranges)
        out += fmt::format("{:016x}  {:>6}  {}\n", range.begin, range.end - range.begin, range.name);
    return out;
}

std::string json_blacklist(const std::vector<BlacklistRange>& ranges) {
    std::string out;
    for (const BlacklistRange& range : ranges)
        out += json_line("blacklist",
                         {{"address", address(range.begin)}, {"size", range.end - range.begin}, {"name", range.name}});
    return out;
}

std::string print_functions(const std::vector<Symbol>& functions, Types* types) {
    std::string out, last;
    for (const Symbol& symbol : functions) {
        // Several static functions may have one name: as a target it is one.
        const std::string name = target_name(symbol);
        if (name == last) continue;
        out += name + "\n";
        if (const std::string text = types ? c_declaration(symbol, *types) : ""; !text.empty())
            out += "    " + text + "\n";
        last = name;
    }
    return out;
}

std::string json_functions(const std::vector<Symbol>& functions, Types* types) {
    std::string out;
    for (const Symbol& symbol : functions) {
        Json data = {{"name", target_name(symbol)}, {"address", address(symbol.addr)}};
        if (const std::string text = types ? c_declaration(symbol, *types) : ""; !text.empty())
            data["declaration"] = text;
        out += json_line("probeable", std::move(data));
    }
    return out;
}

std::string print_place(const std::string& place, const std::string& declaration) {
    return fmt::format("{}\n{}", place, declaration.empty() ? "" : "    " + declaration + "\n");
}

std::string json_place(const std::string& place, uint64_t addr, const std::string& declaration) {
    Json data = {{"name", place}, {"address", address(addr)}};
    if (!declaration.empty()) data["declaration"] = declaration;
    return json_line("probeable", std::move(data));
}

std::string print_target(std::string_view kind, const std::string& place, const std::string& declaration) {
    return fmt::format("{} {}\n{}", kind, place, declaration.empty() ? "" : "    " + declaration + "\n");
}

std::string json_target(std::string_view kind, const std::string& place, uint64_t addr,
                        const std::string& declaration) {
    Json data = {{"kind", kind}, {"place", place}, {"address", address(addr)}};
    if (!declaration.empty()) data["declaration"] = declaration;
    return json_line("target", std::move(data));
}

std::string c_declaration(const Symbol& symbol, Types& types) {
    const auto signature = types.function(symbol.name, symbol.module);
    return signature && *signature ? (*signature)->text : "";
}

}  // namespace kpl
