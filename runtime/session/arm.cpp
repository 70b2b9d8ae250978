// SPDX-License-Identifier: MIT
// From declarations to armed probes: plan, compile, create maps, load, attach. All of it, or none.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "session/session.hpp"

namespace kpl {
namespace {

// What the kernel's errno means for a probe.
std::string attach_reason(int error) {
    switch (error) {
        case EINVAL: return "the kernel allows no probe there: blacklisted (see /sys/kernel/debug/kprobes/blacklist), "
                            "or not the start of an instruction";
        case EILSEQ: return "the address is not the start of an instruction";
        case ENOENT: return "no such function";
        case EOPNOTSUPP: return "this kernel can't place this kind of probe";
        case E2BIG: return "more than the module allows (maxactive, data= or the number of probes)";
        case ENOMEM: return "not enough kernel memory (a smaller maxactive or data= helps)";
        default: return std::strerror(error);
    }
}

std::string place_text(const Place& place) {
    std::string text = place.module.empty() ? place.function : place.module + ":" + place.function;
    if (place.offset) text += fmt::format("+{:#x}", place.offset);
    return text;
}

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
    return {};
}

Result<void> Session::plan_pending(std::vector<PlannedProbe>& planned) {
    std::string errors;
    for (size_t i = planned_; i < declared_.size(); i++) {
        const ProbeDecl& probe = declared_[i];
        auto places = resolve_targets(probe, symbols_, !options_.check);
        Result<std::vector<PlannedProbe>> one =
            places ? plan_probe(probe, static_cast<uint32_t>(i), std::move(places).value(), unit_, types_)
                   : Result<std::vector<PlannedProbe>>(std::move(places).error());
        if (one) {
            for (PlannedProbe& plan : one.value()) planned.push_back(std::move(plan));
        } else if (probe.optional && one.error().code == Errc::script) {
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
    auto loaded = device_->load(request);
    if (!loaded) return Error{Errc::system, program.name + ": " + loaded.error().text};
    if (options_.verbose)
        say(fmt::format("{}: {} slots, cost {}, {}", program.name, program.insns.size(), loaded->cost,
                        loaded->jited ? fmt::format("{} bytes of native code", loaded->native_len) : "interpreted"));
    programs_.push_back({std::move(program), *loaded});
    return {};
}

kpl_attach Session::attach_request(const PlannedProbe& plan) const {
    const ProbeDecl& probe = declared_[plan.declaration];
    kpl_attach request{};
    request.addr = plan.place.address;
    request.func = plan.place.function_address;
    request.kind = probe.kind == ProbeKind::Kretprobe ? KPL_PROBE_KRETPROBE : KPL_PROBE_KPROBE;
    request.flags = (probe.enabled ? 0 : KPL_ATTACH_F_DISABLED) | (probe.optional ? KPL_ATTACH_F_OPTIONAL : 0);
    for (int i = 0; i < 3; i++)
        request.prog[i] = plan.handlers[i] < 0 ? KPL_NO_PROG : programs_[static_cast<size_t>(plan.handlers[i])].loaded.id;
    request.maxactive = probe.maxactive;
    request.when = probe.when;
    if (options_.pid && !(request.when.mask & KPL_WHEN_PID)) {
        request.when.mask |= KPL_WHEN_PID;
        request.when.pid = *options_.pid;
    }
    return request;
}

Error Session::attach_errors(const std::vector<PlannedProbe>& planned, const std::vector<kpl_attach>& requests) const {
    std::string text;
    for (size_t i = 0; i < requests.size(); i++) {
        if (requests[i].error == 0 || requests[i].error == -ECANCELED) continue;
        const Error one{Errc::system, fmt::format("can't probe {}: {}", place_text(planned[i].place), attach_reason(-requests[i].error)),
                        declared_[planned[i].declaration].at};
        text += (text.empty() ? "" : "\n") + one.message();
    }
    return {Errc::script, text.empty() ? "the kernel refused the probes" : text};
}

Result<void> Session::attach(std::vector<PlannedProbe> planned) {
    std::vector<kpl_attach> requests;
    for (const PlannedProbe& plan : planned) requests.push_back(attach_request(plan));
    if (!TRY(device_->attach(requests))) return attach_errors(planned, requests);
    for (size_t i = 0; i < requests.size(); i++) {
        if (requests[i].error != 0) {
            say(fmt::format("warning: can't probe {}: {} (optional: skipped)", place_text(planned[i].place),
                            attach_reason(-requests[i].error)));
            continue;
        }
        probes_.push_back({std::move(planned[i]), requests[i].id});
    }
    return {};
}

Result<void> Session::arm() {
    if (planned_ == declared_.size()) return {};
    if (!options_.check) TRY(open_device());  // first: without the module, nothing else is worth saying
    std::vector<PlannedProbe> planned;
    TRY(plan_pending(planned));
    auto compiled = TRY(compile_unit(
        unit_, types_, options_, [this](const std::string& text) { sink_.write(text); },
        [this](const Warning& w) { say("warning: " + Error{Errc::script, w.text, w.at}.message()); }));
    planned_ = declared_.size();
    if (options_.check) return {};
    if (!delivery_ && !(unit_.events.empty() && unit_.printfs.empty()))
        delivery_.emplace(TRY(Rings::create(*device_, options_.ring_bytes)),
                          Delivery::Parts{*host_, unit_, decoder_, [this](std::string_view text) { write(text); }});
    TRY(create_maps());
    TRY(set_early());
    for (CompiledHandler& handler : compiled) TRY(load_program(std::move(handler.program)));
    return attach(std::move(planned));
}

}  // namespace kpl
