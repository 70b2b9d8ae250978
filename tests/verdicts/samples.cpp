// SPDX-License-Identifier: MIT
// Writes programs for `verdicts`: the verifier's data rows, the edges of all arguments, and programs that are
// nearly right.
//
//   verdict_samples MUTATED FILE…      ; to the standard output
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fuzz/mutate.hpp"
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
    write(&head, 1);
    write(row.code.insns.data(), row.code.insns.size());
    write(row.code.labels.data(), row.code.labels.size());
    write(maps.data(), maps.size());
}

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
    fuzz::Mutator mutator(right, 1);
    for (size_t i = 0; i < mutated; i++) {
        rows::Row row = mutator.next();
        write(row, fmt::format("{}, changed, number {}", row.name, i));
    }
    return 0;
}
