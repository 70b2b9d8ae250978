// SPDX-License-Identifier: MIT
// Session: one run of a script, the pipeline of docs/architecture.md from top to bottom.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/aggregation.hpp"
#include "device/device.hpp"
#include "luahost/host.hpp"
#include "output/datum.hpp"
#include "output/sink.hpp"
#include "session/command.hpp"
#include "session/attach.hpp"
#include "session/compile.hpp"
#include "session/delivery.hpp"
#include "session/loop.hpp"
#include "session/options.hpp"
#include "session/report.hpp"
#include "symbols/kallsyms.hpp"
#include "symbols/types.hpp"

namespace kpl {

class Session final : public ScriptApi {
  public:
    // Runs a script to its end. The exit status is the script's; errors are for the caller to print.
    static Result<int> run(const Options& options);

    // ScriptApi, called by the script.
    Result<uint32_t> declare_map(MapDecl map) override;
    Result<uint32_t> declare_event(EventDecl event) override;
    Result<uint32_t> declare_probe(ProbeDecl probe) override;
    void name_map(uint32_t map, const std::string& name) override;
    void name_event(uint32_t event, const std::string& name) override;
    Result<void> control(std::span<const uint32_t> probes, kpl_control_op op) override;
    Result<ProbeStatus> status(uint32_t probe) override;
    const MapDecl& map(uint32_t map) override { return unit_.maps[map]; }
    Result<std::vector<KeyedValue>> rows(uint32_t map) override;
    Result<AggValue> value(uint32_t map, const std::vector<Datum>& key) override;
    Result<void> clear(uint32_t map) override;
    Result<std::vector<KeyedValue>> take(uint32_t map) override;
    Result<std::string> text(uint32_t map) override;
    std::string text_of(uint32_t map, std::vector<KeyedValue> rows) override;
    std::string output_of(uint32_t map, std::vector<KeyedValue> rows) override;
    Result<std::optional<std::string>> entries_output(uint32_t map) override;
    void emit(std::string_view output) override;
    Result<std::vector<MapEntry>> entries(uint32_t map) override;
    Result<std::optional<std::vector<Datum>>> get(uint32_t map, const std::vector<Datum>& key) override;
    Result<void> set(uint32_t map, const std::vector<Datum>& key, const NamedValues& value) override;
    Result<bool> erase(uint32_t map, const std::vector<Datum>& key) override;
    const Layout& record_layout(uint32_t event) override { return unit_.events[event].record; }
    const Decoder& decoder() override { return decoder_; }
    void every(double seconds, CallbackId callback) override;
    void at_exit(CallbackId callback) override { at_exit_.push_back(callback); }
    void exit(int code) override;
    void write(std::string_view text) override;

  private:
    // A map as the module has it.
    struct ArmedMap {
        bool created = false;
        kpl_map_create made{};
        std::optional<Aggregation> aggregation;
        bool shown = false;  // the script has read or printed it
    };
    // set() of a map that is not in the module yet.
    struct EarlySet {
        uint32_t map;
        std::vector<Datum> key;
        NamedValues value;
    };
    // A probe in the kernel, and the declaration it comes from.
    struct ArmedProbe {
        PlannedProbe plan;
        uint32_t id = 0;  // the module's
    };
    // The probes of a declaration among probes_, and what became of the rest of it.
    struct ProbeRange {
        size_t first = 0, count = 0;
        LeftOut left_out;
        bool told_gone = false;
    };

    Session(const Options& options, Sink sink);

    // session.cpp
    Result<int> main();
    Result<void> run_script();
    Result<int> list();  // list.cpp
    Result<void> events();
    Result<void> finish();
    bool deliver();
    void callback(CallbackId id);
    Result<void> arm_new();  // what a callback has declared
    void add_timer(double seconds, std::function<void()> fn);
    void say(const std::string& line);  // to stderr, after what the script wrote
    Result<void> print_unshown();
    Result<void> account();
    std::vector<KeyedValue> decoded(uint32_t map, std::vector<AggRow> rows) const;
    std::string formatted(uint32_t map, std::vector<KeyedValue> rows) const;
    Result<std::string> render_map(uint32_t map);
    void tell_lost();  // what rings have lost since the last time
    Result<void> account_rings();
    Result<void> account_maps();
    bool wants_more() const { return !exit_code_ && !failure_ && !sink_.broken(); }  // events
    bool done() const { return !wants_more() || ended_; }

    // shared_maps.cpp
    Result<void> clear_shared(uint32_t map);
    Result<void> set_early();
    Result<Datum> address_of(const std::string& text);
    Result<std::string> map_key(uint32_t map, std::vector<Datum> key);
    Result<bool> map_op(uint32_t map, kpl_map_op_kind op, std::string& key, std::string& value, uint64_t* cursor) const;

    // arm.cpp
    Result<void> arm();  // everything that was declared and is not yet armed: all or none
    Result<void> open_device();
    Result<std::vector<PlannedProbe>> plan_one(uint32_t number, size_t others);
    Result<void> plan_pending(std::vector<PlannedProbe>& planned);
    Result<void> create_maps();
    Result<Rings> make_rings() const;
    Result<void> load_program(HandlerProgram program);

    // attach.cpp
    Result<void> attach(std::vector<PlannedProbe> planned, size_t first);
    std::string attach_errors(const std::vector<PlannedProbe>& planned, const std::vector<kpl_attach>& requests);
    void take_attached(std::vector<PlannedProbe> planned, const std::vector<kpl_attach>& requests);
    Result<void> report_left_out(size_t first);
    Result<void> detach_from(size_t before);
    Result<void> tell_gone();
    void tell_gone(const PlannedProbe& plan);
    std::span<const ArmedProbe> probes_of(uint32_t declaration) const;

    const Options& options_;
    std::optional<LuaHost> host_;  // above all that refers to its values: closed after they are gone
    Sink sink_;
    std::optional<Loop> loop_;  // from the end of the main chunk on: until then signals act as in any program
    Unit unit_;
    Types types_;
    Kallsyms symbols_;
    Decoder decoder_;
    std::optional<Device> device_;
    std::optional<Delivery> delivery_;
    std::vector<ProbeDecl> declared_;
    size_t planned_ = 0;  // declarations already armed
    std::vector<ArmedMap> maps_;
    std::vector<EarlySet> early_sets_;
    std::vector<ArmedProgram> programs_;  // by the number of their handler in the unit
    Paths paths_;
    std::optional<uint32_t> pid_;  // of -p, in the initial namespace
    std::vector<ArmedProbe> probes_;
    std::vector<ProbeRange> ranges_;   // by declaration
    std::map<std::string, std::vector<size_t>> in_modules_;  // of probes_: those that may go with their module
    std::vector<CallbackId> at_exit_;
    std::vector<std::pair<double, std::function<void()>>> early_timers_;  // of the main chunk
    StopReporter stops_;
    std::optional<Command> command_;
    std::optional<int> exit_code_;     // of exit() in user space
    std::optional<int> handler_exit_;  // of exit() in a handler
    std::optional<Error> failure_;
    bool ended_ = false;   // a signal, the command's end, the time limit
    bool probes_over_ = false;  // all are detached, for the script's end
    bool running_ = false;  // the main chunk has ended: declarations are armed at once
    bool lost_ = false;
    uint64_t told_lost_ = 0;  // events
};

}  // namespace kpl
