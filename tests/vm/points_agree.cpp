// SPDX-License-Identifier: MIT
// Compares what the point analysis predicts with what the kernel does: for every instruction of functions
// drawn at random, a kprobe is registered through the module, and its place in the text is read until the
// optimizer is done.
//
//   points_agree FUNCTIONS SEED [MODULE]
//
// Functions have 30 instructions or more; those of a module, at most FUNCTIONS, may be shorter. Probes that
// could hinder one another stand in different rounds. Prints each disagreement and, last, "N of N
// instructions: 100.00 %". Exit status 1: a disagreement; 2: no module.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "inspect/functions.hpp"
#include "inspect/inspector.hpp"
#include "inspect/kernel_rules.hpp"
#include "uapi/kprobe_lua.h"

using namespace kpl;

namespace {

constexpr size_t fewest_insns = 30;
constexpr uint64_t apart = 20;  // bytes: no region reaches farther, jump of 5 begun by its last byte but one
constexpr int patience = 2400, poll_us = 50000;  // for the optimizer

[[noreturn]] void fail(const std::string& why) {
    fmt::print(stderr, "points_agree: {}\n", why);
    std::exit(2);
}

template <class T>
T need(Result<T> result) {
    if (!result) fail(result.error().message());
    return std::move(*result);
}

struct Place {
    uint64_t addr, function;
    std::string name;
    bool probe = false;
    std::string state;  // predicted: "int3", "optimized", "ftrace"; "" without a probe
};

// The module, with one handler that does nothing.
class Module {
  public:
    Module() : session_(::open(KPL_DEVICE, O_RDWR | O_CLOEXEC)) {
        if (!session_) fail(fmt::format("{}: {}", KPL_DEVICE, std::strerror(errno)));
        const bpf_insn handler[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, KPL_RET_DONE},
                                    {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
        kpl_prog_load load{};
        load.insns = reinterpret_cast<uint64_t>(handler);
        load.nr_insns = 2;
        load.kind = KPL_PROG_PRE;
        if (::ioctl(session_.get(), KPL_IOC_PROG_LOAD, &load) < 0)
            fail(fmt::format("loading the handler: {}", std::strerror(errno)));
        handler_ = load.id;
    }

    // Those that the kernel takes; `refused` gets the others' errors.
    std::vector<uint32_t> attach(const std::vector<uint64_t>& addresses, std::map<uint64_t, int>& refused) const {
        if (addresses.empty()) return {};  // to the module, that is a mistake
        std::vector<kpl_attach> requests;
        for (const uint64_t addr : addresses) {
            kpl_attach one{};
            one.addr = one.func = addr;
            one.kind = KPL_PROBE_KPROBE;
            one.flags = KPL_ATTACH_F_OPTIONAL;
            one.prog[0] = handler_;
            one.prog[1] = one.prog[2] = KPL_NO_PROG;
            requests.push_back(one);
        }
        kpl_attach_batch batch{};
        batch.probes = reinterpret_cast<uint64_t>(requests.data());
        batch.nr = static_cast<uint32_t>(requests.size());
        if (::ioctl(session_.get(), KPL_IOC_ATTACH, &batch) < 0)
            fail(fmt::format("attaching: {}", std::strerror(errno)));
        std::vector<uint32_t> ids;
        for (const kpl_attach& one : requests)
            if (one.error)
                refused[one.addr] = one.error;
            else
                ids.push_back(one.id);
        return ids;
    }

    void detach(const std::vector<uint32_t>& ids) const {
        kpl_control request{};
        request.ids = reinterpret_cast<uint64_t>(ids.data());
        request.nr = static_cast<uint32_t>(ids.size());
        request.op = KPL_CTL_DETACH;
        if (!ids.empty() && ::ioctl(session_.get(), KPL_IOC_CONTROL, &request) < 0)
            fail(fmt::format("detaching: {}", std::strerror(errno)));
    }

  private:
    UniqueFd session_;
    uint32_t handler_ = 0;
};

std::vector<FunctionView> draw(Inspector& inspector, Kallsyms& symbols, size_t count, unsigned seed,
                               const std::string& module) {
    auto all = need(symbols.glob("*", module));
    const AddressRange init = init_text(symbols);
    const uint64_t text_end = need(symbols.address("_etext"));
    std::erase_if(all, [&](const Symbol& s) {
        return s.name.starts_with("__pfx_") || init.has(s.addr) || (s.module.empty() && s.addr >= text_end);
    });
    // By address alone: names may be equal, and the order must be the same in each boot.
    std::sort(all.begin(), all.end(), [](const Symbol& a, const Symbol& b) { return a.addr < b.addr; });
    std::mt19937 random(seed);
    std::vector<FunctionView> out;
    std::set<uint64_t> seen;
    while (out.size() < count && seen.size() < all.size()) {
        const Symbol& symbol = all[random() % all.size()];
        if (!seen.insert(symbol.addr).second) continue;
        FunctionView view = need(inspector.function(symbol));
        if (view.points.size() >= fewest_insns || module != "vmlinux") out.push_back(std::move(view));
    }
    return out;
}

std::vector<std::vector<Place>> rounds_of(const std::vector<FunctionView>& functions) {
    std::vector<std::vector<Place>> rounds;
    for (const FunctionView& view : functions) {
        std::vector<uint64_t> last(rounds.size());
        for (const ProbePoint& point : view.points) {
            // ftrace would serve it, but not as a kprobe.
            if (point.ftrace && takes_ftrace_alone(view.symbol.name)) continue;
            size_t round = 0;
            while (round < last.size() && last[round] && point.addr - last[round] < apart) round++;
            if (round == last.size()) last.push_back(0);
            if (round == rounds.size()) rounds.emplace_back();
            last[round] = point.addr;
            const char* state = !point.probe.yes()     ? ""
                                : point.ftrace         ? "ftrace"
                                : point.optimize.yes() ? "optimized"
                                                       : "int3";
            rounds[round].push_back({point.addr, view.symbol.addr, view.symbol.name, point.probe.yes(), state});
        }
    }
    return rounds;
}

// By debugfs' list and, of what it calls optimized, by the text: the list tells what the optimizer has in its
// queue.
std::map<uint64_t, std::string> states(const KernelMemory& memory) {
    std::map<uint64_t, std::string> out;
    for (const ListedProbe& probe : need(read_probe_list())) {
        const bool jumps = probe.optimized && memory.get<uint8_t>(probe.addr) == host_arch().jump;
        out[probe.addr] = probe.ftrace ? "ftrace" : jumps ? "optimized" : probe.optimized ? "queued" : "int3";
    }
    return out;
}

std::map<uint64_t, std::string> settled_states(const KernelMemory& memory) {
    for (int i = 0;; i++) {
        auto now = states(memory);
        const bool queued = std::any_of(now.begin(), now.end(), [](const auto& one) { return one.second == "queued"; });
        if (!queued || i == patience) return now;
        ::usleep(poll_us);
    }
}

struct Score {
    size_t insns = 0, right = 0, refused = 0, optimized = 0, between = 0, between_right = 0;
};

void compare(const std::vector<Place>& round, const Module& module, const KernelMemory& memory, Score& score) {
    std::vector<uint64_t> addresses;
    for (const Place& place : round) addresses.push_back(place.addr);
    std::map<uint64_t, int> refused;
    const auto ids = module.attach(addresses, refused);
    const auto now = settled_states(memory);
    module.detach(ids);
    for (const Place& place : round) {
        const auto error = refused.find(place.addr);
        // On a landing pad the kernel moves a probe to the instruction behind.
        auto at = now.find(place.addr);
        if (at == now.end()) at = now.find(place.addr + 4);
        const std::string seen = error != refused.end() ? "" : at == now.end() ? "nowhere" : at->second;
        score.insns++;
        score.right += seen == place.state;
        score.refused += seen.empty();
        score.optimized += seen == "optimized";
        if (seen != place.state)
            fmt::print("{}+{:#x}: predicted {}, is {}\n", place.name, place.addr - place.function,
                       place.state.empty() ? "no probe" : place.state,
                       seen.empty() ? std::string("refused: ") + std::strerror(-error->second) : seen);
    }
}

// No probe stands within an instruction.
void compare_between(const FunctionView& view, const Module& module, Score& score) {
    std::vector<uint64_t> addresses;
    for (const ProbePoint& point : view.points)
        for (uint64_t at = point.addr + 1; at < point.addr + point.length && at < view.symbol.addr + view.size; at++)
            addresses.push_back(at);
    std::map<uint64_t, int> refused;
    const auto ids = module.attach(addresses, refused);
    module.detach(ids);
    score.between += addresses.size();
    score.between_right += refused.size();
    for (const uint64_t addr : addresses)
        if (!refused.contains(addr))
            fmt::print("{}+{:#x}: within an instruction, but taken\n", view.symbol.name, addr - view.symbol.addr);
}

// Each as tests/sweep/left.lua has functions, for those who probe them otherwise.
int list_points(const std::vector<FunctionView>& functions) {
    for (const FunctionView& view : functions)
        for (const ProbePoint& point : view.points)
            fmt::print(
                "{:x} {}+{:#x} - {}\n", point.addr, view.symbol.name, point.addr - view.symbol.addr,
                point.probe.yes() && !(point.ftrace && takes_ftrace_alone(view.symbol.name)) ? "-" : "predicted");
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const bool list = argc > 1 && std::string_view(argv[1]) == "--list";
    if (list) argv++, argc--;
    if (argc != 3 && argc != 4) fail("usage: points_agree [--list] FUNCTIONS SEED [MODULE]");
    Kallsyms symbols;
    Types types;
    Inspector inspector = need(Inspector::open(symbols, types));
    const KernelMemory memory = need(KernelMemory::open());
    const auto functions = draw(inspector, symbols, std::stoul(argv[1]), static_cast<unsigned>(std::stoul(argv[2])),
                                argc > 3 ? argv[3] : "vmlinux");
    if (list) return list_points(functions);
    const Module module;
    Score score;
    const auto rounds = rounds_of(functions);
    for (const auto& round : rounds) compare(round, module, memory, score);
    for (const FunctionView& view : functions) compare_between(view, module, score);
    fmt::print("{} functions, {} rounds; {} refused, {} optimized\n", functions.size(), rounds.size(), score.refused,
               score.optimized);
    fmt::print("within instructions: {} of {} refused\n", score.between_right, score.between);
    fmt::print("{} of {} instructions: {:.2f} %\n", score.right, score.insns,
               score.insns ? 100.0 * static_cast<double>(score.right) / static_cast<double>(score.insns) : 0);
    return score.insns && score.right == score.insns && score.between_right == score.between ? 0 : 1;
}
