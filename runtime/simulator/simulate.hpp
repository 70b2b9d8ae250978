// SPDX-License-Identifier: MIT
// Simulator: handlers without a kernel. Verifies, rewrites and interprets them with the module's own code;
// the helpers of helpers.def work on memory, tasks and maps that the caller describes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/core.h"

namespace kpl {

using ByteVector = std::vector<uint8_t>;

// Keys in the order of their bytes. (The vector's own <=> draws a false warning from GCC 12.)
struct ByteOrder {
    bool operator()(const ByteVector& a, const ByteVector& b) const {
        return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
    }
};
using SimCells = std::map<ByteVector, ByteVector, ByteOrder>;

// The current task, as helpers report it.
struct SimTask {
    uint32_t pid = 1000, tid = 1000, ppid = 1, uid = 0, gid = 0;
    uint64_t task = 0xffff888000001000, cgroup = 1, space = 0x4000001000;
    std::string comm = "sim";
    std::vector<uint64_t> user_regs = std::vector<uint64_t>(21);  // with which it came into the kernel
    std::vector<uint64_t> kstack, ustack;
};

// Bytes at simulated addresses. Addresses that were not added are bad.
class SimMemory {
  public:
    void add(uint64_t address, std::span<const uint8_t> bytes);
    void add_string(uint64_t address, const std::string& text);  // with its NUL
    void add_u64(uint64_t address, uint64_t value);
    std::optional<uint8_t> byte(uint64_t address) const;
    // False: at least one byte is bad; `out` has those before it.
    bool read(uint64_t address, std::span<uint8_t> out) const;

  private:
    std::map<uint64_t, ByteVector> ranges_;  // by first address
};

struct SimMap {
    uint32_t kind = KPL_MAP_COUNT;  // enum kpl_map_kind
    uint32_t key_size = 0;
    uint32_t key_string = 0;  // as in kpl_map_create
    uint32_t value_size = 8;  // HASH: as declared; aggregations: see create()
    uint32_t max_entries = 4096;
    int64_t lo = 0, hi = 0, step = 1;  // LHIST
    SimCells cells;                    // by key; key_size 0: the empty key
    uint64_t lost = 0;                 // updates refused

    // As KPL_IOC_MAP_CREATE: value_size of an aggregation follows from its kind.
    static SimMap create(const kpl_map_create& request);
};

// A ring record. String slots in `fixed` are struct kpl_rec_str, whose `off` counts from the record's start.
struct SimRecord {
    uint32_t event = 0;
    uint64_t seq = 0, time = 0;
    ByteVector bytes;  // all: struct kpl_rec, fixed part, tail

    uint64_t number(uint32_t offset) const;                  // of the fixed part
    std::optional<std::string> text(uint32_t offset) const;  // nullopt: absent
};

// What one run of a handler left, beside records and maps.
struct SimOutcome {
    uint64_t r0 = 0;
    uint32_t reason = 0;  // enum kpl_stop, 0: it ended by itself
    uint32_t pc = 0;      // of the stop, in the program as loaded
    uint64_t bad_addr = 0;
    bool skipped = false;         // KPL_RET_SKIP
    bool record_dropped = false;  // a record was pending when it stopped
};

// A program that the verifier accepted, with its guards.
struct SimProgram {
    std::vector<bpf_insn> insns;   // rewritten; maps are bound
    std::vector<uint32_t> out_pc;  // where each instruction of the program as loaded went
    std::vector<uint32_t> costs;   // of each instruction of the program as loaded
    uint32_t kind = KPL_PROG_PRE;
    uint32_t data_size = 0, scratch_size = 0;
    uint32_t cost = 0, fuel = 0, stack_depth = 0;
    bool has_loops = false;
};

struct SimLoad {
    std::span<const bpf_insn> insns;
    std::span<const kpl_label> labels;
    uint32_t kind = KPL_PROG_PRE;
    uint32_t data_size = 0, scratch_size = 0, budget = 0;
};

// Why a program was refused.
struct SimReject {
    uint32_t reason = KPL_REJECT_NONE, pc = 0;
    std::string text() const;  // "stack is read before it is written, at 7"
};

class Simulator {
  public:
    // Runs what kpl_interpret_on() runs; tests put their own stepper here.
    using Engine = uint64_t (*)(const bpf_insn*, kpl_hit*, const kpl_helper_fn*, void*);

    // The machine. regs, scratch, data and the hit's numbers stay as they are from run to run.
    SimMemory kernel, user;
    std::map<uint64_t, std::string> paths;  // what path() says, by the address of a struct path
    SimTask task;
    uint64_t now = 1'000'000'000;
    std::vector<SimMap> maps;                                // ids are indices; complete before the first load()
    std::vector<uint64_t> regs = std::vector<uint64_t>(21);  // struct pt_regs; x86-64's has 21 words
    kpl_hit hit{};       // numbers: func, addr, ret, ret_addr, bad_addr, cpu; the rest is set by run()
    ByteVector data;     // instance data; run() grows it with zeros to the program's size
    ByteVector scratch;  // likewise
    uint32_t max_record = KPL_MAX_RECORD;
    uint32_t rights = 0;                       // KPL_RIGHT_*
    uint64_t writable = 0x7fbf;                // registers that may be changed with them, as on x86-64, and of them the
    uint64_t ret_reg = 1 << 10;                // return value's; bits as in struct kpl_verify
    size_t ring_room = 1 << 20;                // records until the ring is full
    uint64_t stack_fill = 0x5a5a5a5a5a5a5a5a;  // what the stack holds before a run

    // What handlers have left.
    std::vector<SimRecord> records;
    uint64_t sent = 0, lost = 0, truncated = 0;
    std::optional<int32_t> exit_code;
    std::optional<uint64_t> overridden;  // the value that the function returns at once
    std::optional<uint64_t> went_to;

    // Empty optional: `reject` says why.
    std::optional<SimProgram> load(const SimLoad& program, SimReject& reject) const;
    Result<SimProgram> load(const SimLoad& program) const;
    SimOutcome run(const SimProgram& program, Engine engine = kpl_interpret_on);

    // The bytes at a pointer that the running handler holds, or nullptr if they are not all within one object
    // that it may reach (store: that it may store to).
    uint8_t* reach(uint64_t pointer, size_t size, bool store);

  private:
    friend struct SimHelpers;

    struct Pending {
        uint32_t event = 0;
        ByteVector bytes;  // struct kpl_rec, fixed part, room for the tail
        size_t fixed = 0, used = 0;
    };

    uint8_t* memory(uint64_t pointer, size_t size, bool store);
    SimMap& map(uint64_t value);
    void fail(uint32_t stop, uint64_t address = 0);
    uint8_t* stack_end() { return reinterpret_cast<uint8_t*>(stack_.data() + stack_.size()); }

    std::vector<uint64_t> stack_;  // as deep as the program says, no deeper
    std::optional<Pending> pending_;
};

}  // namespace kpl
