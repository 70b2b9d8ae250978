// SPDX-License-Identifier: MIT
#include "fuzz/oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/core.h"
#include "exec/reference.hpp"

using namespace kpl;

extern "C" {
u64 traced_interpret_on(const bpf_insn* insn, kpl_hit* hit, const kpl_helper_fn* helpers, void* fp);
void trace_step(const bpf_insn* insn, u64* regs);
}

namespace {

// Watches one run.
class Tracer {
  public:
    Tracer(Simulator& sim, const rows::Row& row, const SimProgram& program, uint64_t garbage)
        : sim_(sim), row_(row), program_(program), garbage_(garbage), costs_(program.insns.size()) {
        for (size_t pc = 0; pc < program.out_pc.size(); pc++) costs_[program.out_pc[pc]] = program.costs[pc];
    }

    void step(const bpf_insn* insn, u64* regs) {
        auto slot = static_cast<size_t>(insn - program_.insns.data());
        if (slot >= program_.insns.size()) violation(0, "runs outside of the program");
        out_of_fuel_ = insn->code == (BPF_JMP | BPF_EXIT) && slot > 1 &&
                       insn[-2].code == (BPF_JMP | BPF_JSGE | BPF_K) && insn[-2].dst_reg == BPF_REG_9;
        poison(regs);
        cost_ += costs_[slot];
        const uint64_t budget = uint64_t{program_.cost} + program_.fuel;
        if (cost_ > budget) violation(slot, "costs more than cost + fuel");
        if (++steps_ > 3 * budget + 3) violation(slot, "runs through more slots than its guards make up");
        switch (kpl_insn_forms[insn->code]) {
            case KPL_F_LDX: access(slot, regs[insn->src_reg], *insn, false); break;
            case KPL_F_ST:
            case KPL_F_STX: access(slot, regs[insn->dst_reg], *insn, true); break;
            case KPL_F_ALU_K:
            case KPL_F_ALU_X: arithmetic(slot, *insn, regs); break;
            case KPL_F_BAD: violation(slot, "has an opcode that is not in the map");
        }
        called_ = kpl_insn_forms[insn->code] == KPL_F_CALL ? insn->imm : -1;
    }

    // It ended behind the jump back that its fuel did not suffice for; no other instruction looks at that.
    bool out_of_fuel() const { return out_of_fuel_; }

    [[noreturn]] void violation(size_t slot, const std::string& what) const {
        fmt::print(stderr, "the program {}, at slot {} ({:x}, from '{}'):\n{}\nrewritten:\n{}", what, slot, garbage_,
                   row_.name, disassemble(row_.code.insns, row_.code.labels), disassemble(program_.insns));
        std::abort();
    }

  private:
    // What a program may not read holds garbage that differs from run to run.
    void poison(u64* regs) {
        if (first_) {
            regs[0] = garbage_;
            for (int i = 2; i <= 9; i++) regs[i] = garbage_;
        } else if (called_ >= 0) {
            for (int i = 1; i <= 5; i++) regs[i] = garbage_;
            uint8_t result = kpl_helper_descs[called_].result;
            if (result == KPL_R_VOID || result == KPL_R_DONE) regs[0] = garbage_;
        }
        first_ = false;
    }

    void access(size_t slot, uint64_t base, const bpf_insn& insn, bool store) const {
        static constexpr size_t sizes[] = {4, 2, 1, 8};  // BPF_W, BPF_H, BPF_B, BPF_DW
        size_t size = sizes[BPF_SIZE(insn.code) >> 3];
        uint64_t address = base + static_cast<int64_t>(insn.off);
        if (!sim_.reach(address, size, store)) violation(slot, store ? "stores outside" : "loads from outside");
        if (address % size) violation(slot, "has an unaligned access");
    }

    void arithmetic(size_t slot, const bpf_insn& insn, const u64* regs) const {
        bool wide = BPF_CLASS(insn.code) == BPF_ALU64, imm = BPF_SRC(insn.code) == BPF_K;
        uint64_t s = imm ? static_cast<uint64_t>(int64_t{insn.imm}) : regs[insn.src_reg];
        if (!wide) s = static_cast<uint32_t>(s);
        uint8_t op = BPF_OP(insn.code);
        if ((op == BPF_DIV || op == BPF_MOD) && s == 0) violation(slot, "divides by zero");
        if ((op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH) && imm && s >= (wide ? 64 : 32))
            violation(slot, "shifts by too much");
    }

    Simulator& sim_;
    const rows::Row& row_;
    const SimProgram& program_;
    uint64_t garbage_, cost_ = 0, steps_ = 0;
    std::vector<uint32_t> costs_;  // by slot
    bool first_ = true, out_of_fuel_ = false;
    int called_ = -1;
};

Tracer* tracer = nullptr;

void set_up(Simulator& sim, const rows::Row& row) {
    sim.maps = row.maps;
    sim.max_record = row.max_record;
    sim.rights = row.rights;
    sim.hit = row.hit;
    sim.kernel.add_string(4096, "some bytes of the kernel");
    sim.user.add_string(4096, "some bytes of a process");
    sim.task.kstack = sim.task.ustack = {0x1000, 0x2000, 0x3000};
    for (size_t i = 0; i < sim.regs.size(); i++) sim.regs[i] = i * 0x1001;
}

struct Run {
    Simulator sim;
    SimOutcome outcome;
    bool out_of_fuel = false;
};

void run(Run& run, const rows::Row& row, const SimProgram& program, uint64_t garbage) {
    Tracer watch(run.sim, row, program, garbage);
    run.sim.stack_fill = garbage;
    tracer = &watch;
    run.outcome = run.sim.run(program, traced_interpret_on);
    run.out_of_fuel = watch.out_of_fuel();
    if (run.outcome.r0 == KPL_RET_DONE && run.outcome.record_dropped) watch.violation(0, "ends with a record pending");
}

bool same(const Run& a, const Run& b) {
    auto cells = [](const Run& run) {
        std::vector<SimCells> all;
        for (const SimMap& map : run.sim.maps) all.push_back(map.cells);
        return all;
    };
    auto records = [](const Run& run) {
        std::vector<ByteVector> all;
        for (const SimRecord& record : run.sim.records) all.push_back(record.bytes);
        return all;
    };
    return a.outcome.r0 == b.outcome.r0 && a.outcome.bad_addr == b.outcome.bad_addr && a.sim.data == b.sim.data &&
           a.sim.scratch == b.sim.scratch && a.sim.exit_code == b.sim.exit_code && cells(a) == cells(b) &&
           records(a) == records(b);
}

// The same by RFC 9669's letter, where that can do it: arithmetic, jumps, data of the call and a few helpers, to the
// end. False: it can't.
bool compare_with_reference(const rows::Row& row, const SimProgram& program, const Run& ran, ByteVector data) {
    if (ran.out_of_fuel) return false;
    const auto r0 = exec::run_reference(row.code.insns, data, ran.sim.regs);
    if (!r0) return false;
    Run copy = ran;
    if (*r0 != ran.outcome.r0 || data != ran.sim.data)
        Tracer(copy.sim, row, program, 0).violation(0, "does what the reference does not");
    return true;
}

}  // namespace

void trace_step(const bpf_insn* insn, u64* regs) { tracer->step(insn, regs); }

namespace kpl::fuzz {

std::vector<rows::Row> accepted_rows() {
    std::vector<rows::Row> all;
    for (const char* file : {"verifier_base.txt", "verifier_memory.txt", "verifier_calls.txt", "verifier_edges.txt",
                             "verifier_change.txt", "engine_programs.txt"}) {
        auto rows = rows::read_rows(file);
        if (!rows) {
            fmt::print(stderr, "{}\n", rows.error().message());
            std::exit(2);
        }
        for (rows::Row& row : *rows)
            if (!row.reject) all.push_back(std::move(row));
    }
    return all;
}

Judgement judge(const rows::Row& row, size_t ring_room) {
    Judgement judgement;
    // Two machines, whose objects lie at different addresses.
    Run a, b;
    set_up(a.sim, row);
    SimReject reject;
    const auto first = a.sim.load(row.to_load(), reject);
    judgement.reject = reject.reason;
    if (!first) return judgement;
    set_up(b.sim, row);
    a.sim.ring_room = b.sim.ring_room = ring_room;
    const auto second = b.sim.load(row.to_load(), reject);
    if (!second) Tracer(a.sim, row, *first, 0).violation(0, "is accepted once, and then refused");
    judgement.loops = first->has_loops;
    ByteVector data = a.sim.data;
    data.resize(std::max<size_t>(data.size(), row.data_size));
    run(a, row, *first, 0x1111111111111111);
    run(b, row, *second, 0xeeeeeeeeeeeeeeef);
    if (!same(a, b)) Tracer(a.sim, row, *first, 0).violation(0, "depends on what it may not read");
    judgement.compared = compare_with_reference(row, *first, a, std::move(data));
    return judgement;
}

}  // namespace kpl::fuzz
