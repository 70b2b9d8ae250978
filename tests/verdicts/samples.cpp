// SPDX-License-Identifier: MIT
// Writes programs for `verdicts`: the verifier's data rows, the edges of all arguments, each register, slot, operation
// and access, and programs that are nearly right.
//
//   verdict_samples MUTATED FILE…      ; to the standard output
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fuzz/mutate.hpp"
#include "rows/each.hpp"
#include "rows/edges.hpp"
#include "verdicts/sample.h"

using namespace kpl;

namespace {

template <class T>
void write(const T* items, size_t n) {
    if (n && std::fwrite(items, sizeof *items, n, stdout) != n) {
        std::perror("verdict_samples");
        std::exit(1);
    }
}

void write(const rows::Row& row, const std::string& name) {
    std::vector<kpl_map_desc> maps;
    for (const SimMap& map : row.maps) maps.push_back({map.kind, map.key_size, map.value_size});
    sample head{};
    std::strncpy(head.name, name.c_str(), sizeof head.name - 1);
    head.nr_insns = static_cast<u32>(row.code.insns.size());
    head.nr_labels = static_cast<u32>(row.code.labels.size());
    head.nr_maps = static_cast<u32>(maps.size());
    head.kind = row.kind;
    head.data_size = row.data_size;
    head.scratch_size = row.scratch_size;
    head.budget = row.budget;
    head.max_record = row.max_record;
    head.rights = row.rights;
    write(&head, 1);
    write(row.code.insns.data(), row.code.insns.size());
    write(row.code.labels.data(), row.code.labels.size());
    write(maps.data(), maps.size());
}

// What rows can't say: what is too large for one, and what the assembler does not write.
class Malformed {
  public:
    Malformed() {
        add("the longest", program(KPL_MAX_INSNS, one));
        add("too long", program(KPL_MAX_INSNS + 1, one));
        add("the longest, of divisions", program(KPL_MAX_INSNS, divide));
        for (auto change : {+[](kpl_label& l) { l.reserved = 1; }, +[](kpl_label& l) { l.rec_pending = 2; },
                            +[](kpl_label& l) { l.type[0] = KPL_T_END_; }, +[](kpl_label& l) { l.rec_size = 8; },
                            +[](kpl_label& l) { l.pc = KPL_MAX_INSNS; }}) {
            rows::Row row = program(2, one);
            row.code.labels.resize(1);
            change(row.code.labels.front());
            add("a label", std::move(row));
        }
        rows::Row twice = program(2, one);
        twice.code.labels.resize(2);
        add("two labels at one instruction", std::move(twice));
        rows::Row labels = program(2, one);
        labels.code.labels.resize(KPL_MAX_LABELS + 1);
        add("too many labels", std::move(labels));
        for (auto change :
             {+[](rows::Row& r) { r.kind = KPL_PROG_KINDS; }, +[](rows::Row& r) { r.budget = KPL_MAX_BUDGET + 1; },
              +[](rows::Row& r) { r.max_record = KPL_MAX_RECORD + 1; },
              +[](rows::Row& r) { r.data_size = KPL_MAX_DATA + 8; }, +[](rows::Row& r) { r.data_size = 4; },
              +[](rows::Row& r) { r.scratch_size = KPL_MAX_SCRATCH + 8; }, +[](rows::Row& r) { r.scratch_size = 4; }}) {
            rows::Row row = program(2, one);
            change(row);
            add("a size", std::move(row));
        }
        for (auto change : {+[](bpf_insn& i) { i.code = 1; }, +[](bpf_insn& i) { i.dst_reg = 1; },
                            +[](bpf_insn& i) { i.src_reg = 1; }, +[](bpf_insn& i) { i.off = 1; }}) {
            rows::Row row = program(3, one);
            row.code.insns[0] = {BPF_LD | BPF_IMM | BPF_DW, 0, 0, 0, 1};
            row.code.insns[1] = {};
            change(row.code.insns[1]);
            add("a second slot", std::move(row));
        }
        rows::Row call = program(2, one);
        call.code.insns.front() = {BPF_JMP | BPF_CALL, 0, 0, 0, KPL_H_END_};
        add("a helper behind the last", std::move(call));
        for (int16_t at : {-8, 4, 64 * 8, 0}) register_store(at, BPF_DW);
        register_store(112, BPF_W);
    }
    const std::vector<rows::Row>& rows() const { return rows_; }

  private:
    static constexpr bpf_insn one{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1},
        divide{BPF_ALU64 | BPF_DIV | BPF_X, 0, 0, 0, 0};

    static rows::Row program(size_t n, bpf_insn body) {
        rows::Row row;
        row.code.insns.assign(n, body);
        row.code.insns.front() = one;
        row.code.insns.back() = {BPF_JMP | BPF_EXIT, 0, 0, 0, 0};
        row.budget = KPL_MAX_BUDGET;
        return row;
    }
    // r2 = the registers; *(size *)(r2 + at) = 1
    void register_store(int16_t at, int size) {
        rows::Row row = program(4, one);
        row.rights = KPL_RIGHT_CHANGE;
        row.code.insns[0] = {BPF_LDX | BPF_MEM | BPF_DW, 2, 1, offsetof(kpl_hit, regs), 0};
        row.code.insns[1] = {static_cast<uint8_t>(BPF_ST | BPF_MEM | size), 2, 0, at, 1};
        add("a register's place", std::move(row));
    }
    void add(const char* name, rows::Row row) {
        row.name = name;
        rows_.push_back(std::move(row));
    }

    std::vector<rows::Row> rows_;
};

}  // namespace

int main(int argc, char** argv) {
    const size_t mutated = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 0;
    std::vector<rows::Row> right;
    auto take = [&](Result<std::vector<rows::Row>> rows) {
        if (!rows) {
            fmt::print(stderr, "{}\n", rows.error().message());
            std::exit(2);
        }
        for (rows::Row& row : *rows) {
            write(row, row.name);
            if (!row.reject) right.push_back(std::move(row));
        }
    };
    for (int i = 2; i < argc; i++) take(rows::read_rows(argv[i]));
    take(rows::edge_rows());
    take(rows::each_rows());
    const Malformed malformed;
    for (const rows::Row& row : malformed.rows()) write(row, row.name);
    fuzz::Mutator mutator(right, 1);
    for (size_t i = 0; i < mutated; i++) {
        rows::Row row = mutator.next();
        write(row, fmt::format("{}, changed, number {}", row.name, i));
    }
    return 0;
}
