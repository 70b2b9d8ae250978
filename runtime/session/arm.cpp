// SPDX-License-Identifier: MIT
// From declarations to armed probes: plan, compile, create maps, load, attach. All of it, or none.
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "session/dump.hpp"
#include "session/session.hpp"

namespace kpl {
namespace {

// Map loads name maps by their number in the unit; the module has its own.
void relocate_maps(std::vector<bpf_insn>& insns, const auto& id_of) {
    for (size_t i = 0; i < insns.size(); i++) {
        if (insns[i].code != (BPF_LD | BPF_IMM | BPF_DW)) continue;
        if (insns[i].src_reg == BPF_PSEUDO_MAP_FD) insns[i].imm = static_cast<int32_t>(id_of(static_cast<uint32_t>(insns[i].imm)));
        i++;  // the second slot
    }
}

}  // namespace

Result<void> Session::open_device() {
    if (device_) return {};
    device_ = TRY(Device::open());
    loop_->watch(device_->fd(), [] {});
    paths_.ftrace = (device_->features() & KPL_FEATURE_FTRACE) != 0;
    if (!options_.pid) return {};
    pid_ = TRY(device_->initial_pid(*options_.pid));
    if (!*pid_) return Error{Errc::system, fmt::format("no process {}", *options_.pid)};
    return {};
}

// The places of one declaration, and their handlers. `others`: probes of the script beside these.
Result<std::vector<PlannedProbe>> Session::plan_one(uint32_t number, size_t others) {
    const ProbeDecl& probe = declared_[number];
    if (probe.detached) return std::vector<PlannedProbe>{};
    Resolved found = TRY(resolve_targets(probe, symbols_, paths_.blacklist, !options_.check));
    for (const Error& error : found.missing) say("warning: " + error.message() + " (optional: skipped)");
    if (!options_.quiet)
        for (const Error& note : found.notes) say("note: " + note.message());
    if (!options_.check) {
        TRY(check_attachable(probe, found.places, paths_, pid_));
        if (others + found.places.size() > options_.max_probes)
            return too_many_error(probe, found.places.size(), others, options_.max_probes);
    }
    ranges_[number].left_out = found.left_out;
    return plan_probe(probe, number, std::move(found.places), unit_, types_);
}

Result<void> Session::plan_pending(std::vector<PlannedProbe>& planned) {
    std::string errors;
    ranges_.resize(declared_.size());
    symbols_.refresh();
    for (size_t i = planned_; i < declared_.size(); i++) {
        auto one = plan_one(static_cast<uint32_t>(i), probes_.size() + planned.size());
        if (one) {
            planned.insert(planned.end(), std::move_iterator(one->begin()), std::move_iterator(one->end()));
        } else if (declared_[i].optional && one.error().code == Errc::script) {
            say("warning: " + one.error().message() + " (optional: skipped)");
        } else {
            errors += (errors.empty() ? "" : "\n") + one.error().message();
        }
    }
    if (!errors.empty()) return Error{Errc::script, errors};
    return {};
}

Result<void> Session::create_maps() {
    maps_.resize(unit_.maps.size());
    for (size_t i = 0; i < unit_.maps.size(); i++) {
        const MapDecl& map = unit_.maps[i];
        if (maps_[i].created || !map.fixed) continue;
        kpl_map_create request{};
        request.kind = map.kind;
        request.key_size = map.key.size;
        request.value_size = map.kind == KPL_MAP_HASH ? map.value.size : 0;
        request.max_entries = map.max;
        request.lo = map.lo, request.hi = map.hi, request.step = map.step;
        auto made = device_->create_map(request);
        if (!made)
            return Error{Errc::script, made.error().text + ": it has room for " + std::to_string(map.max ? map.max : 4096) +
                                           " entries; a smaller max= takes less memory", map.at};
        maps_[i].made = *made;
        maps_[i].created = true;
        if (map.kind != KPL_MAP_HASH) maps_[i].aggregation = TRY(Aggregation::create(*device_, *made));
    }
    return {};
}

Result<Rings> Session::make_rings() const {
    auto rings = Rings::create(*device_, options_.ring_bytes);
    if (rings) return rings;
    return Error{Errc::system, fmt::format("{}: {} CPUs have a ring of {}K each; a smaller --buffer takes less",
                                           rings.error().text, device_->cpus(), options_.ring_bytes >> 10)};
}

// Loads one handler, whose number in the unit is the next one of programs_.
Result<void> Session::load_program(HandlerProgram program) {
    relocate_maps(program.insns, [&](uint32_t map) { return maps_[map].made.id; });
    kpl_prog_load request{};
    request.insns = reinterpret_cast<uint64_t>(program.insns.data());
    request.labels = reinterpret_cast<uint64_t>(program.labels.data());
    request.nr_insns = static_cast<uint32_t>(program.insns.size());
    request.nr_labels = static_cast<uint32_t>(program.labels.size());
    request.kind = program.kind;
    request.data_size = program.data_size;
    request.scratch_size = program.scratch_size;
    request.budget = program.budget;
    if (options_.dump.contains("native")) request.flags |= KPL_PROG_F_PLACES;
    auto loaded = device_->load(request);
    if (!loaded) return Error{Errc::system, program.name + ": " + loaded.error().text};
    if (options_.verbose)
        say(fmt::format("{}: {} slots, cost {}, {}", program.name, program.insns.size(), loaded->cost,
                        loaded->jited ? fmt::format("{} bytes of native code", loaded->native_len) : "interpreted"));
    if (options_.dump.contains("native")) {
        const NativeCode code = TRY(device_->native(*loaded, program.insns.size()));
        const auto name_of = [this](uint64_t address) { return symbols_.name_of(address); };
        sink_.write(fmt::format("-- {}: native code\n{}\n", program.name, TRY(print(program, code, name_of))));
    }
    programs_.push_back({std::move(program), *loaded});
    return {};
}

Result<void> Session::arm() {
    if (planned_ == declared_.size()) return {};
    if (!options_.check) TRY(open_device());  // first: without the module, nothing else is worth saying
    std::vector<PlannedProbe> planned;
    TRY(plan_pending(planned));
    const auto began = std::chrono::steady_clock::now();
    auto compiled = TRY(compile_unit(
        unit_, types_, options_, [this](const std::string& text) { sink_.write(text); },
        [this](const Warning& w) { say("warning: " + Error{Errc::script, w.text, w.at}.message()); }));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    if (options_.verbose) say(fmt::format("compiled {} handler{} in {:.1f} ms", compiled.size(), compiled.size() == 1 ? "" : "s", took.count()));
    const size_t first = std::exchange(planned_, declared_.size());
    if (options_.check) return {};
    if (!delivery_ && !(unit_.events.empty() && unit_.printfs.empty()))
        delivery_.emplace(TRY(make_rings()),
                          Delivery::Parts{*host_, unit_, decoder_, [this](std::string_view text) { write(text); }});
    TRY(create_maps());
    TRY(set_early());
    for (CompiledHandler& handler : compiled) TRY(load_program(std::move(handler.program)));
    return attach(std::move(planned), first);
}

}  // namespace kpl
