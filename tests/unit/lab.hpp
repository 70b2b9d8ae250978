// SPDX-License-Identifier: MIT
// Lab: scripts compiled as a session would, and their handlers run by the simulator.
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fake_script.hpp"
#include "lab_types.hpp"
#include "luahost/host.hpp"
#include "output/printf.hpp"
#include "session/compile.hpp"
#include "simulator/simulate.hpp"
#include "symbols/target_text.hpp"

namespace kpl::test {

class Lab {
  public:
    // On the types of tests/unit/lab_types.hpp, or of a kernel.
    explicit Lab(const std::string& btf_dir = fixture().dir())
        : types_(btf_dir), symbols_(fixture().kallsyms()), decoder_(symbols_) {
        host_.emplace(LuaHost::create(script_).value());
        sim.hit.func = sim.hit.addr = 0xffffffff81000000;
        sim.hit.ret_addr = 0xffffffff81002010;
        sim.task.comm = "sim";
    }

    // Empty: fine. Else the compiler's (or Lua's) errors, `file:line: what` each.
    std::string compile(const std::string& code) {
        if (std::string errors = plan(code); !errors.empty()) return errors;
        for (HandlerDecl& handler : script_.unit.handlers)
            handler.user_pointers = user_pointers || handler.way || handler.marked;
        auto compiled = compile_unit(
            script_.unit, types_, options, [](const std::string&) {},
            [this](const Warning& w) { warnings += fmt::format("{}:{}: {}\n", w.at.file, w.at.line, w.text); });
        if (!compiled.ok()) return compiled.error().message();
        make_maps();
        for (CompiledHandler& one : *compiled) {
            auto loaded = load(one.program);
            if (!loaded.ok()) return loaded.error().message() + "\n" + kpl::print(one.program);
            loaded_.push_back(std::move(loaded).value());
            programs.push_back(std::move(one.program));
        }
        return {};
    }

    Result<SimProgram> load(const HandlerProgram& program) {
        return sim.load({program.insns, program.labels, static_cast<uint32_t>(program.kind), program.data_size,
                         program.scratch_size, program.budget});
    }

    // More of the script, as the REPL gives it: its new handlers join what was compiled before.
    std::string again(const std::string& code) { return compile(code); }

    // Milliseconds of the CPU that the session's compiler takes for what the code declares, whatever else runs. Unless
    // `whole` is given, which tells it, the code has no error.
    double compile_time(const std::string& code, bool* whole = nullptr) {
        REQUIRE(plan(code) == "");
        const std::clock_t began = std::clock();
        const auto compiled = compile_unit(
            script_.unit, types_, Options{}, [](const std::string&) {}, [](const Warning&) {});
        const double took = static_cast<double>(std::clock() - began) * 1e3 / CLOCKS_PER_SEC;
        if (whole)
            *whole = compiled.ok();
        else
            REQUIRE(compiled.ok());
        return took;
    }

    // Runs every handler once, in the order of declaration: what it printed, sent and why it stopped, a line
    // each.
    std::vector<std::string> hit() {
        std::vector<std::string> lines;
        bool skipped = false;
        for (size_t i = 0; i < programs.size(); i++) {
            const HandlerDecl& handler = script_.unit.handlers[i];
            if (handler.kind == KPL_PROG_ENTRY) {
                // What the kernel leaves in an instance's data is anything.
                std::fill(sim.data.begin(), sim.data.end(), uint8_t{0xa5});
                skipped = false;
            }
            if (handler.kind == KPL_PROG_RET && skipped) continue;
            sim.records.clear();
            const SimOutcome outcome = sim.run(loaded_[i]);
            for (const SimRecord& record : sim.records) print(record, lines);
            if (sim.overridden) lines.push_back(fmt::format("returns {}", static_cast<int64_t>(*sim.overridden)));
            if (sim.went_to) lines.push_back(fmt::format("goes to {:#x}", *sim.went_to));
            sim.overridden.reset(), sim.went_to.reset();
            if (outcome.reason) {
                const PcNote* note = programs[i].note_at(outcome.pc);
                lines.push_back(fmt::format("stop {} at {}{}", stop_names[outcome.reason - 2], note ? note->at.line : 0,
                                            note && !note->what.empty() ? ": " + note->what : ""));
            }
            skipped = skipped || outcome.skipped;
            if (outcome.skipped) lines.push_back("skipped");
            if (sim.exit_code) lines.push_back(fmt::format("exit {}", *sim.exit_code));
            sim.exit_code.reset();
        }
        return lines;
    }

    // The maps' contents, a line for each key.
    std::vector<std::string> maps() {
        std::vector<std::string> lines;
        for (size_t id = 0; id < sim.maps.size(); id++) {
            const MapDecl& decl = script_.unit.maps[id];
            for (const auto& [key, value] : sim.maps[id].cells) {
                std::string line = decl.name;
                if (decl.keyed) line += "[" + join(decoder_.fixed(decl.key, key), decl.key, ",") + "]";
                line += decl.kind == KPL_MAP_HASH ? " = " + join(decoder_.fixed(decl.value, value), decl.value, " ")
                                                  : " =" + words(value);
                lines.push_back(line);
            }
        }
        return lines;
    }

    Options options;
    bool user_pointers = false;  // HandlerDecl's, of what is compiled next
    std::string mark_args;       // what marks that are compiled next pass
    Simulator sim;
    std::vector<HandlerProgram> programs;
    std::string warnings;
    Types& types() { return types_; }
    const Unit& unit() const { return script_.unit; }

  private:
    // Runs the code, and plans the probes that it declares.
    std::string plan(const std::string& code) {
        if (auto ran = host_->run_string(code, "@t.lua", {}); !ran.ok()) return ran.error().message();
        Unit& unit = script_.unit;
        for (; planned_ < script_.probes.size(); planned_++) {
            const ProbeDecl& probe = script_.probes[planned_];
            const auto* name = std::get_if<std::string>(&probe.targets[0]);
            const bool is_mark = probe_kind(probe.kind).source == Source::Mark;
            const TargetText target = name && !is_mark ? parse_target(*name).value() : TargetText{};
            KernelPlace place;
            if (is_mark) {
                place.special.edit().shown = *name;
                place.special.edit().marked =
                    std::make_shared<const std::vector<MarkArg>>(parse_mark_args(host_arch(), mark_args));
            }
            place.function = target.symbol;
            place.offset = target.offset;
            place.special.edit().returns = kpl_returns_of(place.function.c_str(), place.module->c_str());
            if (place.function == "find") place.special.edit().no_override = "it is the test's";
            if (probe_kind(probe.kind).source == Source::Syscall)
                place.special.edit().way = &host_arch().syscalls[place.function.ends_with("32") ? 1 : 0];
            auto planned = plan_probe(probe, planned_, {place}, unit, types_);
            if (!planned.ok()) return planned.error().message();
        }
        return {};
    }

    void make_maps() {
        for (size_t i = 0; i < script_.unit.maps.size(); i++) {
            const MapDecl& map = script_.unit.maps[i];
            if (sim.maps.size() <= i) sim.maps.emplace_back();
            if (!map.fixed || made_.contains(i)) continue;
            made_.insert(i);
            kpl_map_create request{};
            request.kind = static_cast<uint32_t>(map.kind);
            request.key_size = map.key.size;
            request.key_string = key_string(map.key);
            request.value_size = map.kind == KPL_MAP_HASH ? map.value.size : 0;
            request.lo = map.lo, request.hi = map.hi, request.step = map.step;
            sim.maps[i] = SimMap::create(request);
        }
    }

    static const LabTypes& fixture() {
        static const LabTypes made;
        return made;
    }

    static constexpr const char* stop_names[] = {
#define STOP(name, class, text) #name,
#include "uapi/stops.def"
#undef STOP
    };

    static std::string join(const std::vector<Datum>& values, const Layout& layout, const char* separator) {
        std::string text;
        for (size_t i = 0; i < values.size(); i++) {
            if (i) text += separator;
            const bool named =
                !layout.fields[i].name.empty() && !std::isdigit(static_cast<unsigned char>(layout.fields[i].name[0]));
            text += (named ? layout.fields[i].name + "=" : "") + to_text(values[i]);
        }
        return text;
    }

    // COUNT and SUM: the number; others: each word that is not 0 as index:value.
    static std::string words(const ByteVector& value) {
        std::string text;
        for (size_t i = 0; i * 8 < value.size(); i++) {
            int64_t word;
            std::memcpy(&word, value.data() + i * 8, 8);
            if (value.size() == 8) return fmt::format(" {}", word);
            if (word) text += fmt::format(" {}:{}", i, word);
        }
        return text;
    }

    void print(const SimRecord& record, std::vector<std::string>& lines) {
        const Unit& unit = script_.unit;
        std::string text;
        if (record.event >= kpl_printf_event) {
            const PrintfDecl& decl = unit.printfs[record.event - kpl_printf_event];
            const auto values = decoder_.record(decl.record, record.bytes);
            text = decl.is_print ? format_print(values) : format_printf(decl.format, values);
        } else {
            const EventDecl& decl = unit.events[record.event];
            text = decl.name + " " + join(decoder_.record(decl.record, record.bytes), decl.record, " ");
        }
        while (!text.empty() && text.back() == '\n') text.pop_back();
        lines.push_back(text);
    }

    std::optional<LuaHost> host_;  // closed after the references to its values are gone
    FakeScript script_;
    Types types_;
    Kallsyms symbols_;
    Decoder decoder_;
    uint32_t planned_ = 0;            // probes
    std::set<size_t> made_;           // maps
    std::vector<SimProgram> loaded_;  // `programs`
};

}  // namespace kpl::test
