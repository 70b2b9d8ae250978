// SPDX-License-Identifier: MIT
// Runs data rows (tests/rows/rows.hpp) in the kernel: programs with a result on the module's interpreter and
// on the kernel's JIT, and programs to be refused through its verifier.
//
//   engine_rows FILE…                  ; and those that need no file
//   engine_rows --vm=KERNEL FILE…      ; the same in a VM of that kernel
//
// Prints each mismatch and a line of counts. Exit status 1: a mismatch, or nothing ran; 2: no module.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/unique_fd.hpp"
#include "guest/guest.hpp"
#include "rows/each.hpp"
#include "rows/edges.hpp"
#include "rows/rows.hpp"

using namespace kpl;

namespace {

constexpr uint32_t ring_bytes = 64 * 1024;
constexpr uint32_t max_loads = 512;  // of a session; the module takes 1,024

struct Counts {
    size_t runs[2] = {}, loads[2] = {};  // by engine: interpreter, native
    size_t refused = 0, skipped = 0, mismatches = 0;
};

template <class T>
int call(const UniqueFd& session, unsigned long request, T& argument) {
    return ::ioctl(session.get(), request, &argument) < 0 ? errno : 0;
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

class Kernel {
  public:
    void take(const rows::Row& row) {
        const bool fresh_maps = row.runs ? !row.maps.empty() || !maps_.empty() : !same_maps(row.maps, maps_);
        if (fresh_maps || row.max_record != ring_ || row.rights != rights_ || loads_ >= max_loads) reopen(row);
        if (row.max_record != 0 && row.max_record != KPL_MAX_RECORD) {
            counts.skipped++;  // a ring that small can't be had
        } else if (row.reject) {
            refuse(row);
        } else if (goes_somewhere(row)) {
            // No code is at the address that it names: only the module knows.
            rows::Row refused = row;
            refused.reject = KPL_REJECT_TARGET;
            refuse(refused);
        } else if (row.runs) {
            run_on(row, 0);
            run_on(row, 1);
        } else {
            load(row, 0);
        }
        last_ = row;
    }

    Counts counts;

  private:
    void reopen(const rows::Row& row) {
        session_.reset(::open(KPL_DEVICE, O_RDWR | O_CLOEXEC));
        if (!session_) {
            fmt::print(stderr, "{}: {}\n", KPL_DEVICE, std::strerror(errno));
            std::exit(2);
        }
        kpl_ring_setup rings{};
        rings.size = ring_bytes;
        if (row.max_record && call(session_, KPL_IOC_RING_SETUP, rings)) {
            fmt::print(stderr, "no rings: {}\n", std::strerror(errno));
            std::exit(2);
        }
        kpl_rights rights{};
        rights.rights = row.rights;
        if (call(session_, KPL_IOC_RIGHTS, rights)) {
            fmt::print(stderr, "no rights: {}\n", std::strerror(errno));
            std::exit(2);
        }
        rights_ = row.rights;
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
        if (int error = call(session_, KPL_IOC_MAP_CREATE, request))
            mismatch(rows::Row{}, fmt::format("creating a map: {}", std::strerror(error)));
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
        int error = call(session_, KPL_IOC_PROG_LOAD, load);
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
        int error = call(session_, KPL_IOC_PROG_LOAD, load);
        bool by_limit = row.reject == KPL_REJECT_LIMIT || row.reject == KPL_REJECT_LENGTH;
        counts.refused++;
        if (by_limit && (error == EINVAL || error == E2BIG)) return;
        if (error != EACCES || load.reject != row.reject || load.reject_pc != row.reject_pc)
            mismatch(row, fmt::format("{}, {} at {}; expected {}", error ? std::strerror(error) : "accepted",
                                      kpl_reject_text(load.reject), load.reject_pc,
                                      SimReject{row.reject, row.reject_pc}.text()));
    }

    void run_on(const rows::Row& row, int engine) {
        bool loaded = last_ && last_->runs && same_program(*last_, row) && ids_[engine];
        if (!loaded) {
            ids_[engine].reset();
            if (!load(row, engine)) return;
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
        if (int error = call(session_, KPL_IOC_PROG_RUN, run))
            return mismatch(row, fmt::format("{}: {}", name, std::strerror(error)));
        counts.runs[engine]++;
        if (run.result != row.r0)
            mismatch(row, fmt::format("{}: r0 is {:#x}, expected {:#x}", name, run.result, row.r0));
        for (auto [index, value] : row.words_after)
            if (data.at(index) != value)
                mismatch(row, fmt::format("{}: word {} is {:#x}, expected {:#x}", name, index, data[index], value));
    }

    UniqueFd session_;
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
