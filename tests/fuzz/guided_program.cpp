// SPDX-License-Identifier: MIT
// libFuzzer: programs that new branches of the verifier lead to, against the oracle.
//
// An input is the number of a row, whose options (kind, sizes, maps, rights) it has, the room in the ring, how many
// labels, these, and the instructions. Whoever begins without inputs gets the rows' own programs. The file that
// KPL_ACCEPTED names gets some of those that are accepted, for engine_rows to run in the kernel.
#include <cstdlib>
#include <cstring>
#include <random>

#include "fuzz/accepted.hpp"
#include "fuzz/mutate.hpp"
#include "fuzz/oracle.hpp"

using namespace kpl;

extern "C" {
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed);
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
}

namespace {

struct Head {
    uint16_t row;
    uint8_t room, labels;
    uint32_t rights;
};

const std::vector<rows::Row>& programs() {
    static const std::vector<rows::Row> all = fuzz::accepted_rows();
    return all;
}

bool decode(const uint8_t* data, size_t size, Head& head, rows::Row& row) {
    if (size < sizeof head) return false;
    std::memcpy(&head, data, sizeof head);
    data += sizeof head;
    size -= sizeof head;
    const size_t labels = head.labels * sizeof(kpl_label);
    if (size < labels + sizeof(bpf_insn)) return false;
    row = programs()[head.row % programs().size()];
    row.rights = head.rights & (KPL_RIGHT_INJECT | KPL_RIGHT_CHANGE);
    row.code.labels.resize(head.labels);
    if (labels) std::memcpy(row.code.labels.data(), data, labels);
    row.code.insns.resize((size - labels) / sizeof(bpf_insn));
    std::memcpy(row.code.insns.data(), data + labels, row.code.insns.size() * sizeof(bpf_insn));
    return true;
}

size_t encode(Head head, const rows::Row& row, uint8_t* data, size_t max_size) {
    const size_t labels = row.code.labels.size() * sizeof(kpl_label), insns = row.code.insns.size() * sizeof(bpf_insn);
    if (row.code.labels.size() > UINT8_MAX || sizeof head + labels + insns > max_size) return 0;
    head.labels = static_cast<uint8_t>(row.code.labels.size());
    head.rights = row.rights;
    std::memcpy(data, &head, sizeof head);
    if (labels) std::memcpy(data + sizeof head, row.code.labels.data(), labels);
    std::memcpy(data + sizeof head + labels, row.code.insns.data(), insns);
    return sizeof head + labels + insns;
}

}  // namespace

// Half the time by instructions, as in the source of a program, else by bytes.
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
    std::minstd_rand random(seed);
    Head head{};
    rows::Row row;
    if (!decode(data, size, head, row)) {
        head.row = static_cast<uint16_t>(random() % programs().size());
        return encode(head, programs()[head.row], data, max_size);
    }
    if (random() % 2) return LLVMFuzzerMutate(data, size, max_size);
    fuzz::Mutator mutator(programs(), seed);
    for (size_t changes = 1 + random() % 4; changes > 0; changes--) mutator.change(row);
    const size_t changed = encode(head, row, data, max_size);
    return changed ? changed : LLVMFuzzerMutate(data, size, max_size);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Head head;
    rows::Row row;
    if (!decode(data, size, head, row)) return -1;
    static const char* file = std::getenv("KPL_ACCEPTED");
    static fuzz::Accepted kept(file ? file : "");
    if (fuzz::judge(row, head.room % 3).reject == KPL_REJECT_NONE) kept.add(row);
    return 0;
}
