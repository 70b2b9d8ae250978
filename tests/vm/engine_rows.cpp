// SPDX-License-Identifier: MIT
// Runs data rows (tests/rows/rows.hpp) in the kernel: programs with a result on the module's interpreter and
// on the kernel's JIT, and programs to be refused through its verifier. Both engines must leave the same, also in maps
// and rings.
//
//   engine_rows FILE…                  ; and those that need no file
//   engine_rows --vm=KERNEL FILE…      ; the same in a VM of that kernel
//
// Prints each mismatch and a line of counts. Exit status 1: a mismatch, or nothing ran; 2: no module.
#include <fmt/format.h>
#include <sched.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "device/aggregation.hpp"
#include "device/device.hpp"
#include "device/rings.hpp"
#include "guest/guest.hpp"
#include "rows/each.hpp"
#include "rows/edges.hpp"
#include "rows/rows.hpp"

using namespace kpl;

namespace {

constexpr uint32_t ring_bytes = 2 * KPL_MAX_RECORD;
constexpr uint32_t map_entries = 64;
constexpr uint32_t max_loads = 512;  // of a session; the module takes 1,024

struct Counts {
    size_t runs[2] = {}, loads[2] = {};  // by engine: interpreter, native
    size_t refused = 0, skipped = 0, mismatches = 0;
};

template <class T>
int call(const Device& session, unsigned long request, T& argument) {
    return ::ioctl(session.fd(), request, &argument) < 0 ? errno : 0;
}

template <class T>
T must(const char* what, Result<T> result) {
    if (result) return std::move(*result);
    fmt::print(stderr, "{}: {}\n", what, result.error().message());
    std::exit(2);
}

std::string hex(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<uint8_t>(byte));
    return text;
}

// Programs that do not run leave maps as they are: the next row may have them, too.
bool same_maps(const std::vector<SimMap>& a, const std::vector<SimMap>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const SimMap& x, const SimMap& y) {
        return x.kind == y.kind && x.key_size == y.key_size && x.value_size == y.value_size;
    });
}

bool same_program(const rows::Row& a, const rows::Row& b) {
    auto bytes = [](const rows::Row& row) {
        return std::string_view(reinterpret_cast<const char*>(row.code.insns.data()),
                                row.code.insns.size() * sizeof(bpf_insn));
    };
    return bytes(a) == bytes(b) && a.code.labels.empty() && b.code.labels.empty() && a.kind == b.kind &&
           a.data_size == b.data_size && a.scratch_size == b.scratch_size && a.budget == b.budget && a.maps.empty() &&
           b.maps.empty();
}

bool goes_somewhere(const rows::Row& row) {
    return std::any_of(row.code.insns.begin(), row.code.insns.end(), [](const bpf_insn& insn) {
        return insn.code == (BPF_JMP | BPF_CALL) && insn.imm == KPL_H_go_to;
    });
}

// Its run leaves something in the session, for the next one or for user space.
bool leaves_something(const rows::Row& row) {
    return !row.maps.empty() || row.scratch_size ||
           std::any_of(row.code.insns.begin(), row.code.insns.end(), [](const bpf_insn& insn) {
               return insn.code == (BPF_JMP | BPF_CALL) && kpl_helper_descs[insn.imm].effect == KPL_EFFECT_ACTS;
           });
}

class Kernel {
  public:
    void take(const rows::Row& row) {
        if (!session_ || !same_maps(row.maps, maps_) || row.max_record != ring_ || row.rights != rights_ ||
            loads_ >= max_loads)
            reopen(row);
        if (row.max_record != 0 && row.max_record != KPL_MAX_RECORD) {
            counts.skipped++;  // a ring that small can't be had
        } else if (row.reject) {
            refuse(row);
        } else if (goes_somewhere(row)) {
            // No code is at the address that it names: only the module knows.
            rows::Row refused = row;
            refused.reject = KPL_REJECT_TARGET;
            refuse(refused);
        } else if (row.runs || row.alike) {
            compare(row);
        } else {
            load(row, 0);
        }
        last_ = row;
    }

    Counts counts;

  private:
    void reopen(const rows::Row& row) {
        rings_.reset();
        session_.reset();
        session_ = must("no session", Device::open());
        if (row.max_record) rings_ = must("no rings", Rings::create(*session_, ring_bytes, ring_bytes));
        if (const auto good = session_->set_rights(row.rights); !good) must("no rights", Result<int>(good.error()));
        rights_ = row.rights;
        made_.clear();
        for (const SimMap& map : row.maps) create_map(map);
        maps_ = row.maps;
        ring_ = row.max_record;
        loads_ = 0;
        last_.reset();
    }

    void create_map(const SimMap& map) {
        kpl_map_create request{};
        request.kind = map.kind;
        request.key_size = map.key_size;
        request.value_size = map.kind == KPL_MAP_HASH ? map.value_size : 0;
        request.max_entries = map_entries;
        made_.push_back(must("no map", session_->create_map(request)));
    }

    void mismatch(const rows::Row& row, const std::string& what) {
        fmt::print("MISMATCH {} (line {}): {}\n", row.name, row.line, what);
        counts.mismatches++;
    }

    kpl_prog_load request(const rows::Row& row, int engine) const {
        kpl_prog_load load{};
        load.insns = reinterpret_cast<uint64_t>(row.code.insns.data());
        load.labels = reinterpret_cast<uint64_t>(row.code.labels.data());
        load.nr_insns = static_cast<uint32_t>(row.code.insns.size());
        load.nr_labels = static_cast<uint32_t>(row.code.labels.size());
        load.kind = row.kind;
        load.data_size = row.data_size;
        load.scratch_size = row.scratch_size;
        load.budget = row.budget;
        load.flags = engine == 0 ? KPL_PROG_F_INTERPRET : 0;
        return load;
    }

    // False: it was refused, or an engine that was asked for did not take it.
    bool load(const rows::Row& row, int engine) {
        kpl_prog_load load = request(row, engine);
        int error = call(*session_, KPL_IOC_PROG_LOAD, load);
        if (error) {
            mismatch(row, fmt::format("loading: {}, {} at {}", std::strerror(error), kpl_reject_text(load.reject),
                                      load.reject_pc));
            return false;
        }
        loads_++;
        if (load.jited != static_cast<uint32_t>(engine)) {
            mismatch(row, engine ? "no native code" : "native code where none was wanted");
            return false;
        }
        if (row.cost && *row.cost != load.cost) mismatch(row, fmt::format("cost {}", load.cost));
        counts.loads[engine]++;
        ids_[engine] = load.id;
        return true;
    }

    // What the module checks before its verifier is an error of its own.
    void refuse(const rows::Row& row) {
        kpl_prog_load load = request(row, 0);
        int error = call(*session_, KPL_IOC_PROG_LOAD, load);
        bool by_limit = row.reject == KPL_REJECT_LIMIT || row.reject == KPL_REJECT_LENGTH;
        counts.refused++;
        if (by_limit && (error == EINVAL || error == E2BIG)) return;
        if (error != EACCES || load.reject != row.reject || load.reject_pc != row.reject_pc)
            mismatch(row, fmt::format("{}, {} at {}; expected {}", error ? std::strerror(error) : "accepted",
                                      kpl_reject_text(load.reject), load.reject_pc,
                                      SimReject{row.reject, row.reject_pc}.text()));
    }

    // Where something is left, each in a session of its own.
    void compare(const rows::Row& row) {
        const bool leaves = leaves_something(row);
        std::optional<std::string> left[2];
        for (int engine = 0; engine < 2; engine++) {
            if (leaves && (loads_ || last_)) reopen(row);
            left[engine] = run_on(row, engine, leaves);
        }
        if (left[0] && left[1] && *left[0] != *left[1])
            mismatch(row, fmt::format("interpreter: {}\n  native: {}", *left[0], *left[1]));
    }

    // What it leaves; none: it did not run.
    std::optional<std::string> run_on(const rows::Row& row, int engine, bool leaves) {
        bool loaded = last_ && last_->runs && same_program(*last_, row) && ids_[engine];
        if (!loaded) {
            ids_[engine].reset();
            if (!load(row, engine)) return std::nullopt;
        }
        std::vector<uint64_t> regs(21), data(row.data_size / 8);  // x86-64's pt_regs has 21 words
        for (auto [index, value] : row.regs) regs.at(index) = value;
        for (auto [index, value] : row.words) data.at(index) = value;
        kpl_hit hit = row.hit;
        kpl_prog_run run{};
        run.id = *ids_[engine];
        run.regs = reinterpret_cast<uint64_t>(regs.data());
        run.regs_size = static_cast<uint32_t>(regs.size() * sizeof regs[0]);
        run.data = reinterpret_cast<uint64_t>(data.data());
        run.data_size = row.data_size;
        run.hit = reinterpret_cast<uint64_t>(&hit);
        const char* name = engine ? "native" : "interpreter";
        if (int error = call(*session_, KPL_IOC_PROG_RUN, run)) {
            mismatch(row, fmt::format("{}: {}", name, std::strerror(error)));
            return std::nullopt;
        }
        counts.runs[engine]++;
        if (row.runs && run.result != row.r0)
            mismatch(row, fmt::format("{}: r0 is {:#x}, expected {:#x}", name, run.result, row.r0));
        for (auto [index, value] : row.words_after)
            if (data.at(index) != value)
                mismatch(row, fmt::format("{}: word {} is {:#x}, expected {:#x}", name, index, data[index], value));
        std::string text = fmt::format("r0 {:#x}, bad address {:#x}, data", run.result, run.bad_addr);
        for (const uint64_t word : data) text += fmt::format(" {:x}", word);
        return leaves ? text + left_in_session() : text;
    }

    std::string left_in_session() {
        const kpl_info info = must("no account", session_->info());
        std::string text = fmt::format(", {} stops", info.stops);
        if (info.exiting) text += fmt::format(", exit {}", info.exit_code);
        for (const kpl_map_create& map : made_) text += fmt::format(", map {}:{}", map.id, left_in(map));
        if (!rings_) return text;
        rings_->look(true);
        RecordBatch batch;
        while (rings_->next(batch))
            for (uint32_t i = 0; i < batch.size; i++) text += ", record " + contents(*batch.record[i]);
        const RingCounts counts = rings_->counts();
        return text + fmt::format(", {} sent, {} lost", counts.sent, counts.lost);
    }

    // All but the time.
    static std::string contents(const kpl_rec& record) {
        std::string bytes(reinterpret_cast<const char*>(&record), record.len);
        std::memset(&bytes[offsetof(kpl_rec, time)], 0, sizeof record.time);
        return hex(bytes);
    }

    // By keys: the order in the kernel is by a seed of the map's.
    std::string left_in(const kpl_map_create& map) {
        std::vector<std::string> all;
        if (map.kind != KPL_MAP_HASH) {
            const auto agg = must("no aggregation", Aggregation::create(*session_, map));
            for (const AggRow& row : must("no rows", agg.read(*session_))) {
                const AggValue& v = row.value;
                all.push_back(fmt::format(" {}={},{},{},{}", hex(row.key), v.n, v.sum, v.min, v.max));
                for (size_t i = 0; i < v.slots.size(); i++)
                    if (v.slots[i]) all.back() += fmt::format(",{}:{}", i, v.slots[i]);
            }
        } else {
            std::string key(map.key_size, 0), value(map.value_size, 0);
            kpl_map_op next{map.id, KPL_MAP_NEXT, reinterpret_cast<uint64_t>(key.data()),
                            reinterpret_cast<uint64_t>(value.data()), 0};
            while (must("no entry", session_->map_op(next))) all.push_back(fmt::format(" {}={}", hex(key), hex(value)));
        }
        std::sort(all.begin(), all.end());
        const kpl_map_info info = must("no account of a map", session_->map_info(map.id));
        std::string text = fmt::format(" {} entries, {} lost, {} busy", info.entries, info.lost, info.busy);
        for (const std::string& entry : all) text += entry;
        return text;
    }

    std::optional<Device> session_;
    std::optional<Rings> rings_;
    std::vector<kpl_map_create> made_;
    uint32_t ring_ = UINT32_MAX, loads_ = 0;
    uint32_t rights_ = 0;
    std::vector<SimMap> maps_;
    std::array<std::optional<uint32_t>, 2> ids_;  // of the last program that ran, by engine
    std::optional<rows::Row> last_;
};

int run_in_vm(const std::string& release, std::vector<std::string> files) {
    namespace fs = std::filesystem;
    GuestSpec spec;
    spec.kernel = release;
    spec.program = fs::read_symlink("/proc/self/exe");
    for (std::string& file : files) file = fs::absolute(file);
    spec.argv = spec.files = files;
    spec.cwd = "/";
    spec.module_dir = fs::path(spec.program).parent_path() / "../../kmod";
    const auto status = run_guest(spec);
    if (status) return *status;
    fmt::print(stderr, "engine_rows: {}\n", status.error().message());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string vm = "--vm=", first = argc > 1 ? argv[1] : "";
    if (first.starts_with(vm)) return run_in_vm(first.substr(vm.size()), {argv + 2, argv + argc});
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    ::sched_setaffinity(0, sizeof one, &one);  // scratch memory and rings are each CPU's
    Kernel kernel;
    for (int i = 1; i <= argc + 1; i++) {
        auto rows = i < argc ? rows::read_rows(argv[i]) : i == argc ? rows::edge_rows() : rows::each_rows();
        if (!rows) {
            fmt::print(stderr, "{}\n", rows.error().message());
            return 1;
        }
        for (const rows::Row& row : *rows) kernel.take(row);
    }
    const Counts& n = kernel.counts;
    fmt::print(
        "{} interpreted runs of {} programs, {} native runs of {} programs, {} refused, {} skipped, {} "
        "mismatches\n",
        n.runs[0], n.loads[0], n.runs[1], n.loads[1], n.refused, n.skipped, n.mismatches);
    return n.mismatches == 0 && n.runs[0] + n.runs[1] + n.refused > 0 ? 0 : 1;
}
