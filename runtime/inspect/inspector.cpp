// SPDX-License-Identifier: MIT
#include "inspect/inspector.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "inspect/functions.hpp"
#include "inspect/kernel_rules.hpp"
#include "symbols/nearest.hpp"
#include "symbols/target_text.hpp"

namespace kpl {
namespace {

constexpr uint64_t beyond = 16;  // bytes behind the function: its last instruction may reach into them

// What is left of a page behind the last function: it belongs to it by the kernel's rules, and to nothing by
// anybody else's.
void drop_zeros(FunctionView& view) {
    const auto last = std::find_if(view.code.rbegin(), view.code.rend(), [](uint8_t byte) { return byte != 0; });
    if (last - view.code.rbegin() < 16) return;  // may be an operand, or padding between functions
    const uint64_t end = view.symbol.addr + static_cast<uint64_t>(view.code.rend() - last);
    std::erase_if(view.points, [end](const ProbePoint& point) { return point.addr >= end; });
    if (view.points.empty()) return;
    view.size = view.points.back().addr + view.points.back().length - view.symbol.addr;
    view.code.resize(view.size);
}

// Where any four bytes would lead that might be the distance of a jump.
std::vector<uint64_t> distances(uint64_t begin, std::span<const uint8_t> code, uint64_t size) {
    std::vector<uint64_t> out;
    for (uint64_t at = 0; at + sizeof(int32_t) <= std::min<uint64_t>(size, code.size()); at++) {
        int32_t distance;
        std::memcpy(&distance, &code[at], sizeof distance);
        out.push_back(begin + at + sizeof distance + static_cast<uint64_t>(int64_t{distance}));
    }
    return out;
}

// Any two bytes may be a jump by way of memory or a register.
bool may_jump_by_table(std::span<const uint8_t> code, uint64_t size) {
    for (uint64_t at = 0; at + 2 <= std::min<uint64_t>(size, code.size()); at++)
        if (code[at] == 0xff && (code[at + 1] & 0x38) == 0x20) return true;
    return false;
}

bool is_text(const Symbol& symbol) { return std::string_view("tTwW").find(symbol.kind) != std::string_view::npos; }

}  // namespace

Result<Inspector> Inspector::open(Kallsyms& symbols, Types& types) {
    Inspector inspector(symbols, types, TRY(KernelMemory::open()));
    inspector.rules_ = TRY(kernel_rules(symbols, kernel_release()));
    inspector.vmlinux_ = TRY(read_vmlinux_tables(inspector.memory_, symbols));
    inspector.init_ = init_text(symbols);
    inspector.entry_ = {TRY(symbols.address("__entry_text_start")), TRY(symbols.address("__entry_text_end"))};
    inspector.blacklist_ = TRY(Blacklist::read());
    inspector.sites_ = read_ftrace_sites();
    TRY(inspector.refresh());
    return inspector;
}

Result<void> Inspector::refresh() {
    probes_ = TRY(read_probe_list());
    patches_.clear();
    // Without BTF the marks of other probes stay in the code, and are shown as what they are.
    if (!probes_.empty())
        if (auto table = read_kprobe_table(memory_, *symbols_, *types_)) patches_ = std::move(table->patches);
    traced_.clear();
    if (const auto traced = read_traced())
        for (const TracedFunction& one : *traced) traced_.insert(one.module + ":" + one.name);
    return {};
}

Result<Symbol> Inspector::find(const std::string& target, uint64_t& wanted) {
    if (const auto addr = parse_address(target)) {
        wanted = *addr;
        Symbol symbol = TRY(symbols_->at(*addr));
        if (symbol.name.empty() || !is_text(symbol))
            return Error{Errc::system, fmt::format("no function of this kernel covers the address {:#x}", *addr)};
        return symbol;
    }
    const auto [module, name, offset] = TRY(parse_target(target));
    auto found = TRY(symbols_->find(name, module));
    if (found.empty()) found = TRY(variants_of(*symbols_, name, module));
    if (found.empty())
        return Error{Errc::system,
                     fmt::format("no function '{}' in this kernel{}", target, did_you_mean(TRY(symbols_->near(name))))};
    if (found.size() > 1) {
        std::string list;
        for (const Symbol& one : found) list += fmt::format("\n  {:#x}  {}", one.addr, target_name(one));
        return Error{Errc::system, fmt::format("'{}' stands for {} functions; give the address of one:{}", target,
                                               found.size(), list)};
    }
    wanted = found.front().addr + offset;
    return found.front();
}

// As kallsyms tells the kernel itself: to the next symbol, or to the end of the text.
Result<uint64_t> Inspector::size_of(const Symbol& symbol) {
    const uint64_t next = TRY(symbols_->next(symbol.addr));
    if (symbol.module.empty()) {
        const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
        return next ? next - symbol.addr : page - symbol.addr % page;
    }
    const auto used = [this](uint64_t page) {
        std::vector<uint8_t> bytes(64);  // what begins a page of text is no run of zeros
        return memory_.read(page, bytes) &&
               std::any_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte != 0; });
    };
    const uint64_t end = module_text_end(symbol.module, symbol.addr, used);
    return (next ? std::min(next, end) : end) - symbol.addr;
}

Result<std::vector<uint8_t>> Inspector::code_of(const Symbol& symbol, uint64_t size) const {
    std::vector<uint8_t> code(size + beyond);
    if (!memory_.read(symbol.addr, code)) {
        code.resize(size);
        if (!memory_.read(symbol.addr, code))
            return Error{Errc::system, fmt::format("{}: its code can't be read{}", symbol.name,
                                                   init_.has(symbol.addr) ? ": init code is freed after boot" : "")};
    }
    restore(symbol.addr, code);
    return code;
}

void Inspector::restore(uint64_t addr, std::span<uint8_t> code) const {
    for (const KernelPatch& patch : patches_)
        for (size_t i = 0; i < patch.original.size(); i++)
            if (patch.addr + i >= addr && patch.addr + i - addr < code.size())
                code[patch.addr + i - addr] = patch.original[i];
}

// By one of its names. What is not known is believed; a module may have come since the list was read.
Result<bool> Inspector::traceable(const Symbol& symbol) {
    if (sites_.functions.empty() || !symbol.module.empty() || sites_.functions.contains(":" + symbol.name)) return true;
    return sites_.functions.contains(":" + TRY(symbols_->at(symbol.addr)).name);
}

// As the module sees it (kmod/jumps.c): of all parts of the function that the compiler moved away.
Result<std::vector<uint64_t>> Inspector::part_jumps(const FunctionView& view, const std::vector<KeyJump>& keys) {
    constexpr uint64_t near = 64 << 20;
    const uint64_t begin = view.symbol.addr;
    std::vector<uint64_t> ways = distances(begin, view.code, view.size), out;
    std::set<uint64_t> parts;
    for (const KeyJump& key : keys)
        if (key.label - begin < view.size) ways.push_back(key.target);
    for (const uint64_t way : ways) {
        if (way - begin < view.size || way - begin + near >= 2 * near) continue;
        const auto part = symbols_->at(way);
        if (!part || !is_cold_part(part->name) || !parts.insert(part->addr).second) continue;
        const uint64_t size = TRY(size_of(*part));
        const auto code = TRY(code_of(*part, size));
        for (const uint64_t target : distances(part->addr, code, size))
            if (target - begin < view.size) out.push_back(target);
        if (rules_.has_tables && may_jump_by_table(code, size))
            for (uint64_t at = begin; at < begin + view.size; at++) out.push_back(at);
    }
    return out;
}

// What is not mapped can be read from /proc/kcore, too, as zeros.
bool Inspector::is_unmapped(uint64_t addr) const {
    constexpr uint64_t page = 4096;
    std::array<uint8_t, 64> bytes{};
    return addr % page == 0 && (!memory_.read(addr, bytes) || bytes == std::array<uint8_t, 64>{});
}

Result<FunctionView> Inspector::function(const std::string& target) {
    uint64_t wanted = 0;
    const Symbol symbol = TRY(find(target, wanted));
    FunctionView view = TRY(function(symbol));
    if (wanted - symbol.addr >= view.size)
        return Error{Errc::system, fmt::format("'{}' is behind the end of {}, which has {:#x} bytes", target,
                                               symbol.name, view.size)};
    view.wanted = wanted;
    return view;
}

Result<FunctionView> Inspector::function(const Symbol& symbol) {
    if (init_.has(symbol.addr))
        return Error{Errc::system, fmt::format("{} is start-up code, which the kernel has freed", symbol.name)};
    FunctionView view;
    view.symbol = symbol;
    view.wanted = symbol.addr;
    view.size = TRY(size_of(symbol));
    view.code = TRY(code_of(symbol, view.size));
    view.rules = rules_;
    const uint64_t end = symbol.addr + view.size;
    SpecialInsns special =
        symbol.module.empty() ? vmlinux_.within(symbol.addr, end)
                              : read_module_tables(memory_, symbol.module, {symbol.addr & ~0xffffffULL, end + 0xffffff})
                                    .within(symbol.addr, end);
    FunctionFacts facts;
    facts.addr = symbol.addr;
    facts.size = view.size;
    facts.code = view.code;
    facts.rules = rules_;
    facts.traced = traced_.contains(symbol.module + ":" + symbol.name);
    facts.traceable = TRY(traceable(symbol));
    if (const auto more = sites_.nameless.find(symbol.module + ":" + symbol.name); more != sites_.nameless.end())
        for (const uint64_t offset : more->second) facts.more_sites.push_back(symbol.addr + offset);
    facts.blacklist = TRY(forbidden_ranges(*symbols_, blacklist_, symbol, view.size));
    facts.init_text = init_;
    facts.entry_text = entry_;
    facts.fixups = std::move(special.fixups);
    facts.jump_labels = std::move(special.jump_labels);
    facts.is_part = is_cold_part(symbol.name);
    facts.ftrace_alone = takes_ftrace_alone(symbol.name);
    facts.read_over = rules_.optprobes && !symbol.module.empty() && is_unmapped(end);
    facts.part_jumps = TRY(part_jumps(view, special.key_jumps));
    facts.key_jumps = std::move(special.key_jumps);
    facts.static_calls = std::move(special.static_calls);
    // Its trampoline is rewritten as the calls are, but is in no table.
    if (is_static_call(symbol.name))
        facts.static_calls.insert(facts.static_calls.end(), {symbol.addr, symbol.addr + 5});
    else if (!why_no_probe(symbol.name).empty())
        facts.blacklist.push_back({symbol.addr, end});
    facts.bugs = std::move(special.bugs);
    for (const ListedProbe& probe : probes_)
        if (!probe.gone && !probe.disabled && !probe.ftrace) facts.probes.push_back(probe.addr);
    view.points = analyse(host_arch(), facts);
    view.code.resize(view.size);
    drop_zeros(view);
    return view;
}

}  // namespace kpl
