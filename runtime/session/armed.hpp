// SPDX-License-Identifier: MIT
// Armed: what a session has in the kernel, from the first declaration that is armed to the session's end: the device,
// the maps, the programs, the probes. A step that fails leaves it as it was.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "session/armed_maps.hpp"
#include "session/attach.hpp"
#include "session/client.hpp"
#include "session/compile.hpp"
#include "session/declared.hpp"
#include "session/kernel_view.hpp"
#include "session/options.hpp"
#include "session/overload.hpp"
#include "session/plan.hpp"
#include "session/report.hpp"

namespace kpl {

class Armed {
  public:
    // What outlives it.
    struct Parts {
        const Options& options;
        Client& client;
        KernelView& kernel;
        Paths& paths;
        Declared& declared;
    };
    // Opens the device.
    static Result<std::unique_ptr<Armed>> open(Parts parts);
    Armed(const Armed&) = delete;
    Armed& operator=(const Armed&) = delete;

    const Device& device() const { return device_; }
    std::optional<uint32_t> pid() const { return pid_; }  // Options::pid, in the initial namespace
    ArmedMaps& maps() { return maps_; }
    size_t probes() const { return probes_.size(); }
    size_t attached() const;  // of them: those that were not detached

    // Arms what was planned and compiled: all of it or, with an error, none.
    enum class Outcome { Armed, Interrupted };
    Result<Outcome> arm(Plan plan, std::vector<CompiledHandler> handlers);

    Result<void> control(std::span<const uint32_t> declarations, kpl_control_op op);
    Result<ProbeStatus> status(uint32_t declaration) const;
    // "vfs_read", "vfs_read and 9 more": the probes of a declaration; empty: it has none.
    std::string name_of(uint32_t declaration) const;
    size_t places_of(uint32_t declaration) const { return probes_of(declaration).size(); }
    // What runs at its probes, each once.
    std::vector<const ArmedProgram*> programs_of(uint32_t declaration) const;
    // All probes, for the session's end.
    Result<void> detach_all();

    // Tells of handlers that stopped, as StopReporter::poll, and of probes that went with their module.
    Result<void> report_stops(bool last);
    Result<void> report_gone();
    // Tells of probes that the module has disabled for what they took of a CPU.
    Result<void> report_overloads();

  private:
    // The probes of a declaration among probes_, and what became of the rest of it.
    struct ProbeRange {
        size_t first = 0, count = 0;
        LeftOut left_out;
        bool told_gone = false;
    };
    // How much there was before a step.
    struct Mark {
        size_t programs, probes;
    };

    Armed(Parts parts, Device device)
        : parts_(parts), device_(std::move(device)), maps_({device_, parts.declared, parts.kernel}) {}

    Result<Outcome> arm_step(Plan plan, std::vector<CompiledHandler> handlers);
    void undo(const Mark& mark);
    Result<void> load(HandlerProgram program);
    Result<Outcome> attach(std::vector<PlannedProbe> planned, size_t first);
    std::string attach_errors(const std::vector<PlannedProbe>& planned, const std::vector<kpl_attach>& requests);
    std::string watched_text(std::span<const kpl_attach> before) const;
    Result<Attached> try_attach(std::vector<kpl_attach>& requests);
    void leave_to_kretprobes(const std::vector<PlannedProbe>& planned, std::vector<kpl_attach>& requests) const;
    void take_attached(std::vector<PlannedProbe> planned, const std::vector<kpl_attach>& requests);
    Result<void> report_left_out(size_t first);
    Result<void> detach_from(size_t before);
    Result<void> retire(uint32_t declaration);
    void tell_gone(const PlannedProbe& plan);
    void tell_replaced(const PlannedProbe& plan);
    std::span<const PlannedProbe> probes_of(uint32_t declaration) const;

    Parts parts_;
    Device device_;
    std::optional<uint32_t> pid_;
    ArmedMaps maps_;
    std::vector<ArmedProgram> programs_;                     // by the number of their handler in the unit
    std::vector<PlannedProbe> probes_;                       // in the kernel
    std::vector<ProbeRange> ranges_;                         // by declaration
    std::map<std::string, std::vector<size_t>> in_modules_;  // of probes_: those that may go with their module
    std::map<std::shared_ptr<const Program>, size_t>
        in_programs_;  // the first of probes_ in each; not if that was told
    StopReporter stops_;
    std::vector<std::string> last_states_;  // by declaration, from detach_all() on: what each was before
    OverloadReporter overloads_;
};

}  // namespace kpl
