// SPDX-License-Identifier: MIT
#include "engines.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/unique_fd.hpp"
#include "graph.hpp"
#include "reference.hpp"
#include "simulator/simulate.hpp"

using namespace kpl;

// tests/fuzz/traced_interp.c
extern "C" {
u64 traced_interpret_on(const bpf_insn* insn, kpl_hit* hit, const kpl_helper_fn* helpers, void* fp);
void trace_step(const bpf_insn* insn, u64* regs);
}

namespace {

Simulator* watched = nullptr;

}  // namespace

// Before each instruction of the interpreter: one that reaches beyond what the program was given is not run.
void trace_step(const bpf_insn* insn, u64* regs) {
    const auto access = exec::access_of(*insn);
    if (!access) return;
    const uint64_t address = regs[access->base] + static_cast<uint64_t>(int64_t{insn->off});
    const bool store = BPF_CLASS(insn->code) != BPF_LDX;
    if (watched->reach(address, static_cast<size_t>(access->size), store)) return;
    fmt::print(stderr, "kprobe-lua-exec: an accepted program {} outside of its memory: opcode {:#x}, offset {}\n",
               store ? "stores" : "loads", insn->code, insn->off);
    std::abort();
}

namespace kpl::exec {

namespace {

constexpr uint32_t budget = KPL_MAX_BUDGET;

SimLoad load_of(const Handler& handler) {
    return {handler.insns, handler.labels, KPL_PROG_ENTRY, handler.data_size, 0, budget};
}

uint32_t origin_of(const Handler& handler, uint32_t pc) { return pc < handler.origin.size() ? handler.origin[pc] : pc; }

// At some jump back; a program's own result may look the same.
bool looks_out_of_fuel(const Handler& handler, uint64_t r0) {
    for (uint32_t pc = 0; pc < handler.insns.size(); pc++)
        if (handler.insns[pc].code == (BPF_JMP | BPF_JA) && handler.insns[pc].off < 0 &&
            r0 == KPL_RET_STOP(KPL_STOP_BUDGET, pc))
            return true;
    return false;
}

// The same with all of the program one slot further on: what the first constant is loaded with takes two slots, and
// costs as much as the move did. So the fuel lasts as long, and a stop names another place.
Handler moved_on(Handler handler) {
    const uint32_t at = handler.first_constant;
    handler.insns[at].code = BPF_LD | BPF_IMM | BPF_DW;
    handler.insns.insert(handler.insns.begin() + at + 1, bpf_insn{});
    handler.origin.insert(handler.origin.begin() + at + 1, handler.origin[at]);
    for (kpl_label& label : handler.labels) label.pc++;
    return handler;
}

// run(handler, memory) to the end, or an error if its fuel does not last.
template <class Run>
Result<Ran> with_fuel(const Handler& handler, std::vector<uint8_t>& memory, const Run& run) {
    std::vector<uint8_t> before = memory;
    const Ran ran = TRY(run(handler, memory));
    if (!looks_out_of_fuel(handler, ran.r0)) return ran;
    if (handler.insns.size() == KPL_MAX_INSNS)
        return Error{Errc::script, fmt::format("r0 is {:x}, or that stands for a stop: in a handler of {} slots, both "
                                               "look the same",
                                               ran.r0, KPL_MAX_INSNS)};
    const Ran again = TRY(run(moved_on(handler), before));
    if (again.r0 == ran.r0) return ran;
    return Error{Errc::script, fmt::format("stopped: cost bound of {} reached", budget)};
}

class Host : public Engine {
  public:
    explicit Host(bool is_reference) : is_reference_(is_reference) {}

    Result<Ran> run(const Handler& handler, std::vector<uint8_t>& memory, uint32_t repeat) override {
        const auto run = [&](const Handler& now, std::vector<uint8_t>& bytes) { return run_all(now, bytes, repeat); };
        return is_reference_ ? run(handler, memory) : with_fuel(handler, memory, run);
    }

  private:
    Result<Ran> run_all(const Handler& handler, std::vector<uint8_t>& memory, uint32_t repeat) const {
        Simulator sim;
        SimReject reject;
        const auto program = sim.load(load_of(handler), reject);
        if (!program) return refused(reject.reason, origin_of(handler, reject.pc));
        sim.data = handler.data_of(memory);
        std::copy(handler.regs.begin(), handler.regs.end(), sim.regs.begin());
        Ran ran;
        const auto began = std::chrono::steady_clock::now();
        watched = &sim;
        const auto engine = repeat == 1 ? traced_interpret_on : kpl_interpret_on;  // many are to be quick
        for (uint32_t i = 0; i < repeat; i++)
            ran.r0 = is_reference_ ? TRY(refer(handler, sim.data)) : sim.run(*program, engine).r0;
        ran.ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count() / repeat;
        handler.take_back(sim.data, memory);
        return ran;
    }

    // What was given, so that nothing that was made of it is taken at its word.
    static Result<uint64_t> refer(const Handler& handler, std::vector<uint8_t>& data) {
        if (handler.given.empty()) return run_reference(handler.insns, data, handler.regs, handler.origin);
        const std::span<const uint64_t> regs = handler.regs;
        std::vector<uint8_t> memory(handler.memory);
        handler.take_back(data, memory);
        const uint64_t r0 = TRY(run_given(handler.given, memory, handler.context ? std::optional(regs) : std::nullopt));
        data = handler.data_of(memory);
        return r0;
    }

    const bool is_reference_;
};

class Module : public Engine {
  public:
    Module(UniqueFd session, bool native) : session_(std::move(session)), native_(native) {}

    Result<Ran> run(const Handler& handler, std::vector<uint8_t>& memory, uint32_t repeat) override {
        return with_fuel(handler, memory,
                         [&](const Handler& now, std::vector<uint8_t>& bytes) { return run_all(now, bytes, repeat); });
    }

  private:
    Result<Ran> run_all(const Handler& handler, std::vector<uint8_t>& memory, uint32_t repeat) {
        kpl_prog_load load{};
        load.insns = reinterpret_cast<uint64_t>(handler.insns.data());
        load.labels = reinterpret_cast<uint64_t>(handler.labels.data());
        load.nr_insns = static_cast<uint32_t>(handler.insns.size());
        load.nr_labels = static_cast<uint32_t>(handler.labels.size());
        load.kind = KPL_PROG_ENTRY;
        load.data_size = handler.data_size;
        load.budget = budget;
        load.flags = native_ ? 0 : KPL_PROG_F_INTERPRET;
        if (::ioctl(session_.get(), KPL_IOC_PROG_LOAD, &load) < 0) {
            if (errno == EACCES && load.reject) return refused(load.reject, origin_of(handler, load.reject_pc));
            return system_error("loading the program");
        }
        const Result<Ran> ran = run_loaded(load, handler, memory, repeat);
        kpl_free program{};
        program.kind = KPL_FREE_PROG;
        program.id = load.id;
        if (::ioctl(session_.get(), KPL_IOC_FREE, &program) < 0) return system_error("freeing the program");
        if (!ran) return ran.error();
        if (native_ && !load.jited) return Error{Errc::system, "this kernel made no native code of it"};
        return ran;
    }

    static Error system_error(const char* what) {
        return {Errc::system, fmt::format("{}: {}", what, std::strerror(errno))};
    }

    Result<Ran> run_loaded(const kpl_prog_load& load, const Handler& handler, std::vector<uint8_t>& memory,
                           uint32_t repeat) {
        std::vector<uint8_t> data = handler.data_of(memory);
        kpl_prog_run run{};
        run.id = load.id;
        run.repeat = repeat;
        run.data = reinterpret_cast<uint64_t>(data.data());
        run.data_size = load.data_size;
        run.regs = reinterpret_cast<uint64_t>(handler.regs.data());
        run.regs_size = static_cast<uint32_t>(handler.regs.size() * sizeof handler.regs[0]);
        if (::ioctl(session_.get(), KPL_IOC_PROG_RUN, &run) < 0) {
            if (errno == EUCLEAN) return Error{Errc::system, "the program wrote beyond its data"};
            return system_error("running the program");
        }
        handler.take_back(data, memory);
        return Ran{run.result, static_cast<double>(run.duration) / repeat};
    }

    UniqueFd session_;
    const bool native_;
};

}  // namespace

Verdict verdict(const Handler& handler) {
    SimReject reject;
    if (Simulator().load(load_of(handler), reject)) return {};
    return {reject.reason, origin_of(handler, reject.pc)};
}

Error refused(uint32_t reason, uint32_t at) {
    return {Errc::script, fmt::format("refused: {} at {}", kpl_reject_text(reason), at)};
}

std::unique_ptr<Engine> simulator() { return std::make_unique<Host>(false); }
std::unique_ptr<Engine> reference() { return std::make_unique<Host>(true); }

Result<std::unique_ptr<Engine>> kernel(bool native) {
    UniqueFd session(::open(KPL_DEVICE, O_RDWR | O_CLOEXEC));
    if (!session) return Error{Errc::system, fmt::format("{}: {}", KPL_DEVICE, std::strerror(errno))};
    return std::unique_ptr<Engine>(std::make_unique<Module>(std::move(session), native));
}

}  // namespace kpl::exec
