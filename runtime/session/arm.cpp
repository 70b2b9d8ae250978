// SPDX-License-Identifier: MIT
// A step of arming: maps, programs, probes; and the way back.
#include <fmt/format.h>

#include <utility>

#include "session/armed.hpp"
#include "session/listing.hpp"

namespace kpl {
namespace {

// Map loads name maps by their number in the unit; the module has its own.
void relocate_maps(std::vector<bpf_insn>& insns, const ArmedMaps& maps) {
    for (size_t i = 0; i < insns.size(); i++) {
        if (insns[i].code != (BPF_LD | BPF_IMM | BPF_DW)) continue;
        if (insns[i].src_reg == BPF_PSEUDO_MAP_FD)
            insns[i].imm = static_cast<int32_t>(maps.id(static_cast<uint32_t>(insns[i].imm)));
        i++;  // the second slot
    }
}

// The script's file without its directories.
std::string_view name_for_log(const Declared& declared) {
    if (declared.probes().empty()) return "kprobe-lua";
    const std::string_view file = declared.probes().front().at.file;
    return file.substr(file.rfind('/') + 1);
}

}  // namespace

Result<std::unique_ptr<Armed>> Armed::open(Parts parts) {
    Device opened = TRY(Device::open());  // before there is memory that an error would leave behind
    std::unique_ptr<Armed> armed(new Armed(parts, std::move(opened)));
    const Device& device = armed->device_;
    TRY(device.set_share(parts.options.cpu_share));
    TRY(device.set_name(name_for_log(parts.declared), parts.options.dead_man));
    if (parts.options.unsafe != Unsafe::No) TRY(device.set_rights(static_cast<uint32_t>(parts.options.unsafe)));
    parts.paths.ftrace = (device.features() & KPL_FEATURE_FTRACE) != 0;
    parts.paths.direct = (device.features() & KPL_FEATURE_DIRECT) != 0;
    if (parts.options.pid) {
        armed->pid_ = TRY(device.initial_pid(*parts.options.pid));
        if (!*armed->pid_) return Error{Errc::system, fmt::format("no process {}", *parts.options.pid)};
    }
    return armed;
}

// Loads one handler, whose number in the unit is the next one of programs_.
Result<void> Armed::load(HandlerProgram program) {
    relocate_maps(program.insns, maps_);
    kpl_prog_load request{};
    request.insns = reinterpret_cast<uint64_t>(program.insns.data());
    request.labels = reinterpret_cast<uint64_t>(program.labels.data());
    request.nr_insns = static_cast<uint32_t>(program.insns.size());
    request.nr_labels = static_cast<uint32_t>(program.labels.size());
    request.kind = program.kind;
    request.data_size = program.data_size;
    request.scratch_size = program.scratch_size;
    request.budget = program.budget;
    const bool dump = parts_.options.dump.contains("native");
    if (dump) request.flags |= KPL_PROG_F_PLACES;
    auto loaded = device_.load(request);
    if (!loaded) return Error{Errc::system, program.name + ": " + loaded.error().text};
    programs_.push_back({std::move(program), *loaded});
    const HandlerProgram& kept = programs_.back().program;
    if (parts_.options.verbose)
        parts_.client.note(
            Note::Detail,
            fmt::format("{}: {} slots, cost {}, {}", kept.name, kept.insns.size(), loaded->cost,
                        loaded->jited ? fmt::format("{} bytes of native code", loaded->native_len) : "interpreted"));
    if (dump) {
        const NativeCode code = TRY(device_.native(*loaded, kept.insns.size()));
        const auto name_of = [this](uint64_t address) { return parts_.kernel.symbols.name_of(address); };
        parts_.client.show(fmt::format("-- {}: native code\n{}\n", kept.name, TRY(print(kept, code, name_of))));
    }
    return {};
}

Result<Armed::Outcome> Armed::arm_step(Plan plan, std::vector<CompiledHandler> handlers) {
    TRY(maps_.create());
    for (CompiledHandler& handler : handlers) TRY(load(std::move(handler.program)));
    if (plan.probes.empty()) return Outcome::Armed;
    return attach(std::move(plan.probes), plan.first);
}

Result<Armed::Outcome> Armed::arm(Plan plan, std::vector<CompiledHandler> handlers) {
    const Mark before{programs_.size(), probes_.size()};
    ranges_.resize(plan.first);
    for (const LeftOut& left_out : plan.left_out) ranges_.push_back({0, 0, left_out, false});
    auto outcome = arm_step(std::move(plan), std::move(handlers));
    if (outcome && *outcome == Outcome::Armed)
        maps_.keep();
    else
        undo(before);
    return outcome;
}

// Probes first: they keep programs, which keep maps. What the module can't free goes when the device is closed.
void Armed::undo(const Mark& mark) {
    if (probes_.size() > mark.probes) (void)detach_from(mark.probes).ok();
    for (auto& [module, probes] : in_modules_)
        std::erase_if(probes, [&](size_t probe) { return probe >= mark.probes; });
    std::erase_if(in_modules_, [](const auto& entry) { return entry.second.empty(); });
    std::erase_if(in_programs_, [&](const auto& entry) { return entry.second >= mark.probes; });
    for (ProbeRange& range : ranges_)
        if (range.first + range.count > mark.probes) range.first = range.count = 0;
    probes_.resize(mark.probes);
    while (programs_.size() > mark.programs) {
        (void)device_.free(KPL_FREE_PROG, programs_.back().loaded.id).ok();
        programs_.pop_back();
    }
    stops_.forget(mark.programs);
    maps_.undo();
}

}  // namespace kpl
